import { setTimeout as sleep } from "node:timers/promises";
import { backoffMs } from "../../backoff.ts";
import { ProblemError } from "../../errors.ts";
import type { Keys } from "../../store/keys.ts";
import type { Part, ReservedTask } from "../../store/verbs/scripts.ts";
import { failureOf, INPUT_GONE, INPUT_UNREAD } from "../attempt/attempt-end.ts";
import { newCall } from "../calls/new-call.ts";
import type { Engine } from "../engine.ts";
import { Sleep } from "../watching/sleep.ts";

/** How often a waiting request polls, in addition to messages, ms. */
const LOOK_MS = 2000;
/** How long the first poll waits for the subscriptions, ms: a partition may be unavailable. */
const LISTEN_MS = 500;
/** Pauses between tries to hand tasks back to a partition that did not answer, ms: doubled up to the maximum. */
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
 * @throws ProblemError store-unavailable if no partition is available
 */
export async function takeOrWait(
  engine: Engine,
  request: TakeRequest,
  deadlineMs: number,
  signal: AbortSignal,
): Promise<TakeAnswer> {
  const { keys, pubsub } = engine;
  const takes = [new Take(engine, request)];
  const got: ReservedTask[] = [];
  const handBack = async () => {
    await Promise.all(takes.map((take) => take.handBack()));
  };
  let untilMs = deadlineMs;
  const idle = new Sleep();
  let announced = false;
  const onNotice = () => {
    announced = true;
    idle.wake();
  };
  // Subscribes before it polls, so that no message is missed in between.
  const listening = keys.tags.map((_, p) => pubsub.listen(keys.workChannel(p, request.queue), onNotice));
  await Promise.race([Promise.all(listening), sleep(LISTEN_MS, undefined, { ref: false })]);
  try {
    for (;;) {
      announced = false;
      const take = takes.at(-1);
      if (!take) throw new ProblemError("internal", "a request for work has no part");
      const { tasks, pauseMs, again } = await look(take, got.length > 0);
      got.push(...tasks);
      // The request is a repetition that had got nothing before: it may take tasks that have arrived since.
      if (again) continue;
      const missing = request.count - got.length;
      if (tasks.length > 0) {
        if (got.length === tasks.length) untilMs = Date.now() + request.leaseMs / 2;
        const stoodMs = Math.max(...tasks.map((task) => task.stoodMs));
        untilMs = Math.min(untilMs, Date.now() + (request.fillMs ?? 0) - stoodMs);
      }
      const left = untilMs - Date.now();
      const full = got.length > 0 && (missing <= 0 || left <= 0);
      if (full || signal.aborted || left <= 0) {
        const none = { tasks: [], handBack: async () => undefined };
        return got.length === 0 ? none : { tasks: await withInputs(engine, request, got), handBack };
      }
      if (tasks.length > 0) {
        // What a request has got is settled; a repetition asks for its further parts in the same order.
        const reservation = `${request.reservation}+${takes.length}`;
        takes.push(new Take(engine, { ...request, reservation, count: missing }));
        continue;
      }
      if (announced) continue;
      await idle.for(Math.min(left, pauseMs > 0 ? pauseMs : LOOK_MS), signal);
    }
  } finally {
    for (const take of takes) take.closeSilent();
    for (const listened of listening) void listened.then((stop) => stop());
  }
}

/** Polls; a request that has tasks already gets these, even if the store goes away. */
async function look(take: Take, hasTasks: boolean): Promise<Poll> {
  try {
    return await take.look();
  } catch (error) {
    if (!hasTasks || !isAway(error)) throw error;
    return { tasks: [], pauseMs: 0, again: false };
  }
}

/** Reads long inputs. A task whose input cannot be read is postponed; a task whose input is gone fails. */
async function withInputs(
  engine: Engine,
  { queue }: TakeRequest,
  tasks: readonly ReservedTask[],
): Promise<WithInput[]> {
  const read = tasks.map(async (task): Promise<WithInput[]> => {
    const input = await engine.tasks.inputOf(task).catch(() => undefined);
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

/** The tasks of one partition in one poll. */
interface PolledPart extends Part {
  readonly partition: number;
  readonly tasks: readonly ReservedTask[];
}

/** The result of polling all partitions once. */
interface Poll {
  readonly tasks: readonly ReservedTask[];
  /** For how long the rate allows no more starts, ms. */
  readonly pauseMs: number;
  /** Nothing was given because an earlier copy of the request had got nothing: poll again. */
  readonly again: boolean;
}

/**
 * One copy of a request, which may be repeated. All copies poll the partitions in the same order, and each partition decides
 * its part once (lua/reservation.lua), so that all of them get the same tasks even if they overlap.
 */
class Take {
  readonly #engine: Engine;
  readonly #request: TakeRequest;
  readonly #holder = newCall();
  /** The latest known generation, and the latest that is known to be empty. */
  #generation = 0;
  #after = 0;
  /** The partitions that did not answer the last call, although they may have carried it out. */
  readonly #silent = new Set<number>();

  constructor(engine: Engine, request: TakeRequest) {
    this.#engine = engine;
    this.#request = request;
  }

  /** Polls the partitions in turn until there are enough tasks. @throws ProblemError if none is available */
  async look(): Promise<Poll> {
    const given: PolledPart[] = [];
    let generation = 0;
    let wanted = this.#request.count;
    let [pauseMs, failure]: [number, unknown] = [0, undefined];
    for (const partition of orderOf(this.#engine.keys, this.#request)) {
      // Even with enough tasks, ask the next partitions for a repeated request, which may have got tasks there.
      if (wanted === 0 && !given.some(({ replayed }) => replayed)) break;
      try {
        const { tasks, part, pauseMs: pause } = await this.#ask(partition, wanted, generation);
        if (!part) throw new ProblemError("internal", "the store's answer lacks the request");
        given.push({ ...part, partition, tasks });
        generation ||= part.generation;
        wanted = Math.max(0, wanted - part.given);
        pauseMs = Math.max(pauseMs, pause);
        this.#silent.delete(partition);
      } catch (error) {
        if (!isAway(error)) throw error;
        failure = error;
        this.#silent.add(partition);
      }
    }
    this.#generation = Math.max(this.#generation, generation);
    if (given.length === 0) throw failure;
    const kept = this.#withoutSurplus(given);
    const empty = kept.every((part) => part.given === 0);
    if (empty) this.#after = Math.max(this.#after, generation);
    return {
      tasks: kept.flatMap(({ tasks }) => tasks),
      pauseMs,
      again: empty && given.some(({ replayed }) => replayed),
    };
  }

  /** If a partition was unavailable when the request was first sent, it may now give tasks although others have given enough. */
  #withoutSurplus(given: readonly PolledPart[]): readonly PolledPart[] {
    const total = given.reduce((sum, part) => sum + part.given, 0);
    if (total <= this.#request.count) return given;
    for (const part of given) if (!part.replayed && part.given > 0) void this.#close(part.partition);
    return given.filter(({ replayed }) => replayed);
  }

  async #ask(partition: number, count: number, generation: number) {
    const { rate } = this.#engine.queues.settings(this.#request.queue);
    const copy = { holder: this.#holder, generation, after: this.#after };
    const reserved = await this.#engine.leases.reserve(partition, { ...this.#request, count, rate, copy });
    // Ticks know how long leases usually are; these may be shorter.
    if (reserved.tasks.length > 0) this.#engine.maintenance.noteDue(partition, this.#request.leaseMs);
    return reserved;
  }

  /** Hands back the tasks of all partitions. */
  async handBack(): Promise<void> {
    await Promise.all(this.#engine.keys.tags.map((_, partition) => this.#close(partition)));
  }

  /** Hands back tasks that silent partitions may have reserved, since the worker will not get them. */
  closeSilent(): void {
    for (const partition of this.#silent) void this.#close(partition);
  }

  /** Hands back the tasks of a partition; if it is unavailable, retries in the background. */
  async #close(partition: number): Promise<void> {
    if (await this.#unreserve(partition)) return;
    const untilMs = Date.now() + Math.min(this.#request.leaseMs, CLOSING_MS);
    const retry = async () => {
      for (let attempt = 1; Date.now() < untilMs; attempt += 1) {
        await sleep(backoffMs(RETRY, attempt), undefined, { ref: false });
        if (await this.#unreserve(partition)) return;
      }
    };
    void retry();
  }

  /** Returns whether nothing is left to do; never rejects. */
  async #unreserve(partition: number): Promise<boolean> {
    const { rate } = this.#engine.queues.settings(this.#request.queue);
    const by = { holder: this.#holder, generation: this.#generation };
    try {
      await this.#engine.leases.unreserve(partition, { ...this.#request, rate }, by);
      return true;
    } catch (error) {
      return !isAway(error);
    }
  }
}

const isAway = (error: unknown): boolean => error instanceof ProblemError && error.code === "store-unavailable";

/** The order in which a request polls the partitions: the same for all its copies, different for other requests. */
function orderOf(keys: Keys, { worker, reservation }: TakeRequest): number[] {
  const first = keys.partitionOf(`${worker} ${reservation}`);
  return Array.from({ length: keys.partitions }, (_, i) => (first + i) % keys.partitions);
}
