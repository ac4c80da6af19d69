import { setTimeout as sleep } from "node:timers/promises";
import { backoffMs } from "../../backoff.ts";
import { ProblemError } from "../../errors.ts";
import type { ReserveAnswer, ReservedTask } from "../../store/line/reserve.ts";
import { newCall } from "../calls/calls.ts";
import type { Engine } from "../engine.ts";
import { Sleep } from "../watch/sleep.ts";
import { failureOf, INPUT_GONE, INPUT_UNREAD } from "./attempt-end.ts";

/** How often a waiting request polls, in addition to messages, ms. */
const POLL_MS = 2000;
/** How long the first poll waits for the subscription, ms. */
const LISTEN_MS = 500;
/** Pauses between tries to hand tasks back to a store that did not answer, ms: doubled up to the maximum. */
const RETRY = { baseMs: 200, maxMs: 5000 } as const;
/** How long this is tried, ms; after that the leases expire. */
const CLOSING_MS = 60_000;

/** A request for work. */
export interface TakeRequest {
  readonly queue: string;
  readonly worker: string;
  /** Unique to the request; if it is repeated, it gets the same tasks. */
  readonly reservation: string;
  readonly count: number;
  readonly leaseMs: number;
  /**
   * Once there are tasks, how long to wait for more, up to `count`, ms, from when the oldest of them joined the line; default 0. At most
   * half a lease is waited.
   */
  readonly fillMs?: number;
}

/** A reserved task with its input. */
export interface WithInput extends ReservedTask {
  readonly input: Buffer;
}

/** The tasks reserved for a worker. */
export interface TakeAnswer {
  readonly tasks: readonly WithInput[];
  /** Hands all tasks back, since the worker has gone. What cannot be handed back now is retried in the background. */
  handBack(): Promise<void>;
}

/**
 * Reserves tasks of a queue for a worker outside this process; waits for tasks until the deadline (on the clock of
 * `Date.now()`) or until the signal fires. May return none.
 * @throws ProblemError store-unavailable
 */
export async function takeOrWait(
  engine: Engine,
  request: TakeRequest,
  deadlineMs: number,
  signal: AbortSignal,
): Promise<TakeAnswer> {
  const { keys, pubsub } = engine;
  const take = new Take(engine, request);
  const got: ReservedTask[] = [];
  let untilMs = deadlineMs;
  const idle = new Sleep();
  let announced = false;
  // Subscribes before it polls, so that no message is missed in between.
  const listening = pubsub.listen(keys.workChannel(keys.partitionOfQueue(request.queue), request.queue), () => {
    announced = true;
    idle.wake();
  });
  await Promise.race([listening, sleep(LISTEN_MS, undefined, { ref: false })]);
  try {
    for (;;) {
      announced = false;
      const { tasks, pauseMs } = await take.next(request.count - got.length);
      got.push(...tasks);
      if (tasks.length > 0) {
        if (got.length === tasks.length) untilMs = Date.now() + request.leaseMs / 2;
        const stoodMs = Math.max(...tasks.map((task) => task.stoodMs));
        untilMs = Math.min(untilMs, Date.now() + (request.fillMs ?? 0) - stoodMs);
      }
      const left = untilMs - Date.now();
      const full = got.length > 0 && got.length >= request.count;
      if (full || signal.aborted || left <= 0) {
        return { tasks: await withInputs(engine, request, got), handBack: () => take.handBack() };
      }
      if (tasks.length > 0 || announced) continue;
      await idle.for(Math.min(left, pauseMs > 0 ? pauseMs : POLL_MS), signal);
    }
  } finally {
    take.end();
    void listening.then((stop) => stop());
  }
}

/** Reads long inputs. A task whose input cannot be read is postponed; a task whose input is gone fails. */
async function withInputs(
  engine: Engine,
  { queue }: TakeRequest,
  tasks: readonly ReservedTask[],
): Promise<WithInput[]> {
  const read = tasks.map(async (task): Promise<WithInput[]> => {
    const input = await engine.values.inputOf(task, queue).catch(() => undefined);
    if (input) return [{ ...task, input }];
    const settings = engine.queues.settings(queue);
    const facts = { settings, attempt: task.attempt };
    const failure = failureOf(input === null ? INPUT_GONE : INPUT_UNREAD, facts, Math.random());
    // If this fails too, the lease expires.
    await engine.leases.fail({ queue, id: task.id, fence: task.fence }, failure, settings).catch(() => undefined);
    return [];
  });
  return (await Promise.all(read)).flat();
}

/**
 * What one sender of a request reserves. What it has got is settled; while it waits to be filled, it goes on with further reservations,
 * which the other senders of the same request make in the same order.
 */
class Take {
  readonly #engine: Engine;
  readonly #request: TakeRequest;
  readonly #sender = newCall();
  /** How many reservations have got tasks. */
  #made = 0;
  /** Whether the last reservation was not answered, although it may have been carried out. */
  #unanswered = false;

  constructor(engine: Engine, request: TakeRequest) {
    this.#engine = engine;
    this.#request = request;
  }

  /** Reserves up to so many more tasks. A request that has tasks gets these even if the store goes away. @throws ProblemError */
  async next(count: number): Promise<Pick<ReserveAnswer, "tasks" | "pauseMs">> {
    const { leases, upkeep, keys, queues } = this.#engine;
    const { queue, leaseMs } = this.#request;
    const { rate } = queues.settings(queue);
    this.#unanswered = true;
    try {
      const reserved = await leases.reserve({ ...this.#reservation(this.#made), count, leaseMs, rate });
      this.#unanswered = false;
      if (reserved.tasks.length === 0) return reserved;
      this.#made += 1;
      // Ticks know how long leases usually are; these may be shorter.
      upkeep.noteDue(keys.partitionOfQueue(queue), leaseMs);
      return reserved;
    } catch (error) {
      if (this.#made === 0 || !isAway(error)) throw error;
      return { tasks: [], pauseMs: 0 };
    }
  }

  #reservation(nth: number) {
    const { queue, worker, reservation } = this.#request;
    return { queue, worker, reservation: nth === 0 ? reservation : `${reservation}+${nth}`, sender: this.#sender };
  }

  /** Hands back all tasks. */
  async handBack(): Promise<void> {
    await Promise.all(Array.from({ length: this.#made }, (_, nth) => this.#close(nth)));
  }

  /** Hands back what an unanswered reservation may have got, since the worker will not get it. */
  end(): void {
    if (this.#unanswered) void this.#close(this.#made);
  }

  /** Hands back the tasks of a reservation; if the store is unavailable, retries in the background. */
  async #close(nth: number): Promise<void> {
    if (await this.#unreserve(nth)) return;
    const untilMs = Date.now() + Math.min(this.#request.leaseMs, CLOSING_MS);
    const retry = async () => {
      for (let attempt = 1; Date.now() < untilMs; attempt += 1) {
        await sleep(backoffMs(RETRY, attempt), undefined, { ref: false });
        if (await this.#unreserve(nth)) return;
      }
    };
    void retry();
  }

  /** Returns whether nothing is left to do; never rejects. */
  async #unreserve(nth: number): Promise<boolean> {
    try {
      await this.#engine.call("unreserve", this.#reservation(nth));
      return true;
    } catch (error) {
      return !isAway(error);
    }
  }
}

const isAway = (error: unknown): boolean => error instanceof ProblemError && error.code === "store-unavailable";
