import { SHARED } from "../../store/constants.ts";
import type { Keys } from "../../store/keys.ts";
import type { Scripts } from "../../store/library/scripts.ts";
import { BATCH_LIMIT } from "../../store/library/verb.ts";
import type { OwnQueue, RegisteredQueue } from "../../store/line/queue.ts";
import { storedRate } from "../../store/line/queue.ts";
import type { TickAnswer, TickQueue } from "../../store/ops/tick.ts";
import { refusalOf } from "../../store/store-error.ts";
import { encodeResult } from "../../store/task/record.ts";
import { type QueueSettings, retentionOf } from "../settings.ts";
import { catalogueResult } from "../tasks/result.ts";

/** Maximum number of queues in one call. */
const TICK_QUEUES = 50;
/** How often a process registers its queues and reads those of others, ms. */
const REGISTER_MS = 30_000;
/** A queue without tasks that nobody has registered for this long is deleted, ms. */
const DELETE_AFTER_MS = 86_400_000;

/** The result of a tick in a partition. */
export interface TickReport extends TickAnswer {
  /** The shortest lease of its queues, ms; infinity if it has none. */
  readonly shortestLeaseMs: number;
}

/** A queue without a handler in this process. */
type OtherQueue = TickQueue & RegisteredQueue;

/**
 * Does the timed work of all queues. Each process registers the queues of its handlers, each in its partition. A queue without a handler in
 * any process is still maintained, with the settings it was registered with.
 */
export class Tick {
  readonly #scripts: Scripts;
  readonly #keys: Keys;
  /** By partition: the queues of this process. */
  readonly #own: readonly (readonly OwnQueue[])[];
  /** By partition: the queues of other processes, and when they were last read, on the clock of `performance.now()`. */
  readonly #others: { readonly queues: readonly OtherQueue[]; readonly atMs: number }[] = [];
  #silentMs: ReadonlyMap<string, number> = new Map();
  readonly #found: (queue: string) => void;
  /** Each tick writes something, which shows whether the store takes writes at all. */
  readonly #refusals = new Map<number, string>();

  /** @param found is called with the queues of other processes, again and again, before they are maintained */
  constructor(
    scripts: Scripts,
    keys: Keys,
    queues: ReadonlyMap<string, QueueSettings>,
    found: (queue: string) => void = () => undefined,
  ) {
    this.#scripts = scripts;
    this.#keys = keys;
    this.#found = found;
    const all = [...queues.values()].map((settings): OwnQueue => {
      const { leaseMs, warmupMs, concurrency, rate, total, turns } = settings;
      const warmup = warmupMs === undefined ? "" : `${warmupMs} ${concurrency}`;
      const longest = turns ? ` ${turns.longestMs ?? 0}` : "";
      return {
        ...lossOf(settings),
        leaseMs: turns?.all ? null : leaseMs,
        warmup,
        rate: rate ? storedRate(rate) : "",
        total: total === undefined ? "" : `${total}${longest}`,
      };
    });
    this.#own = keys.tags.map((_, partition) => all.filter(({ queue }) => keys.partitionOfQueue(queue) === partition));
  }

  /** The partitions in which the store refused the writes of the last tick, and why. */
  get refusals(): ReadonlyMap<number, string> {
    return this.#refusals;
  }

  /**
   * Cancels, promotes, reclaims and purges tasks in one partition.
   * @param pausedMs how long this process has waited on purpose since its last tick, where that is longer than usual
   * @throws ProblemError store-unavailable
   */
  async run(partition: number, pausedMs = 0): Promise<TickReport> {
    try {
      const ticked = await this.#run(partition, pausedMs);
      this.#refusals.delete(partition);
      return ticked;
    } catch (error) {
      const refusal = refusalOf(error);
      if (refusal === undefined) this.#refusals.delete(partition);
      else this.#refusals.set(partition, refusal);
      throw error;
    }
  }

  async #run(partition: number, pausedMs: number): Promise<TickReport> {
    const queues = [...this.#ownOf(partition), ...(await this.#othersOf(partition))];
    const ticks: TickAnswer[] = [];
    // One without queues as well: its answer says whether the partition takes writes.
    for (let i = 0; i === 0 || i < queues.length; i += TICK_QUEUES) {
      const some = queues.slice(i, i + TICK_QUEUES);
      ticks.push(
        await this.#scripts.tick(this.#keys.tag(partition), {
          items: some,
          timeout: TIMEOUT,
          limit: BATCH_LIMIT,
          pausedMs,
        }),
      );
    }
    const nexts = ticks.flatMap((t) => (t.nextMs === null ? [] : [t.nextMs]));
    return {
      promoted: ticks.reduce((sum, t) => sum + t.promoted, 0),
      nextMs: nexts.length > 0 ? Math.min(...nexts) : null,
      lost: ticks.flatMap((t) => t.lost),
      late: ticks.flatMap((t) => t.late),
      held: ticks.some((t) => t.held),
      unrenewed: ticks.flatMap((t) => t.unrenewed),
      waiting: ticks.flatMap((t) => t.waiting),
      shortestLeaseMs: Math.min(...queues.map(({ leaseMs }) => leaseMs ?? Number.POSITIVE_INFINITY)),
    };
  }

  /**
   * The queues without a handler in this process, by name, and how long no process with a handler had registered them, ms; as of the last
   * ticks that could read them, so that they are there when the store is not.
   */
  get others(): ReadonlyMap<string, number> {
    return this.#silentMs;
  }

  /** The names of all queues of a partition. @throws ProblemError store-unavailable */
  async queuesOf(partition: number): Promise<string[]> {
    return [...this.#ownOf(partition), ...(await this.#othersOf(partition))].map(({ queue }) => queue);
  }

  #ownOf(partition: number): readonly OwnQueue[] {
    return this.#own[partition] ?? [];
  }

  /**
   * The queues of a partition without a handler in this process. Repeated, since the registrations are lost if the store is
   * emptied.
   */
  async #othersOf(partition: number): Promise<readonly OtherQueue[]> {
    const known = this.#others[partition];
    const nowMs = performance.now();
    if (known && nowMs - known.atMs < REGISTER_MS) return known.queues;
    const tag = this.#keys.tag(partition);
    const own = this.#ownOf(partition);
    const names = new Set(own.map(({ queue }) => queue));
    let all: Awaited<ReturnType<Scripts["register"]>> = [];
    for (let i = 0; i === 0 || i < own.length; i += BATCH_LIMIT) {
      const deleteAfterMs = i + BATCH_LIMIT >= own.length ? DELETE_AFTER_MS : null;
      all = await this.#scripts.register(tag, { queues: own.slice(i, i + BATCH_LIMIT), deleteAfterMs });
    }
    const queues = all.filter(({ queue }) => !names.has(queue)).map((queue) => ({ ...queue, problem: WORKER_LOST }));
    for (const { queue } of queues) this.#found(queue);
    this.#others[partition] = { queues, atMs: nowMs };
    this.#silentMs = new Map(
      this.#others.flatMap((others) => others?.queues ?? []).map((other) => [other.queue, other.silentMs]),
    );
    return queues;
  }
}

/** The stored form of the result of a task that has lost its workers. */
const WORKER_LOST = String(encodeResult(catalogueResult("worker-lost")));

const TIMEOUT = String(encodeResult(catalogueResult(SHARED.taskTimeout, "The turn lasted as long as any may.")));

/** What the loss of a worker means for tasks of a queue. */
export function lossOf(settings: QueueSettings): TickQueue {
  return {
    queue: settings.queue,
    maxLost: settings.maxLost,
    ...retentionOf(settings),
    deadMs: settings.deadTtlMs,
    problem: WORKER_LOST,
  };
}
