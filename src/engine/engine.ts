import type { Keys } from "../store/keys.ts";
import type { Notices } from "../store/notices.ts";
import { encodeResult } from "../store/result.ts";
import type { CancelVerdict, Lease, QueueRow, Reserved, Scripts, Ticked } from "../store/scripts.ts";
import { Batch } from "./batch.ts";
import { Finisher, retentionOf } from "./finish.ts";
import { Inspector } from "./inspect.ts";
import { catalogueResult } from "./problem.ts";
import { DEAD_CAP, type QueueSettings } from "./settings.ts";
import { Submitter } from "./submit.ts";
import { Waiter } from "./wait.ts";

/** What an engine is made of. */
export interface EngineParts {
  readonly scripts: Scripts;
  readonly keys: Keys;
  readonly notices: Notices;
  /** The queues this process knows, by name. */
  readonly queues: ReadonlyMap<string, QueueSettings>;
  /** What holds for tasks of other queues that are still in the store. */
  readonly fallback: QueueSettings;
}

/** Most tasks of each kind and queue that one tick moves. */
const TICK_LIMIT = 200;
/** Most queues that one tick looks at. */
const TICK_QUEUES = 50;

/** Every verb on tasks, over all partitions. Stateless: any number of processes have one each on the same store. */
export class Engine {
  readonly keys: Keys;
  readonly notices: Notices;
  readonly queues: ReadonlyMap<string, QueueSettings>;
  readonly submitter: Submitter;
  readonly inspector: Inspector;
  readonly finisher: Finisher;
  readonly waiter: Waiter;
  readonly #scripts: Scripts;
  readonly #fallback: QueueSettings;
  readonly #cancels: Batch<{ id: string; keepMs: number; tombstoneMs: number }, CancelVerdict>;
  readonly #renewals: Batch<Lease & { leaseMs: number }, "ok" | "cancel" | "stale">;
  readonly #reports: Batch<{ id: string; fence: string; progress: string }, "ok" | "stale">;

  constructor(parts: EngineParts) {
    const { scripts, keys, notices } = parts;
    this.keys = keys;
    this.notices = notices;
    this.queues = parts.queues;
    this.#scripts = scripts;
    this.#fallback = parts.fallback;
    this.submitter = new Submitter(scripts, keys);
    this.inspector = new Inspector(scripts, keys);
    this.finisher = new Finisher(scripts, keys);
    this.waiter = new Waiter(keys, notices, this.inspector);
    this.#cancels = new Batch({ send: (p, items) => scripts.cancel(keys.tag(p), items) });
    this.#renewals = new Batch({ send: (p, items) => scripts.renew(keys.tag(p), items) });
    this.#reports = new Batch({ send: (p, items) => scripts.progress(keys.tag(p), items) });
  }

  /** The settings of a queue, also of one that has no handler here. */
  settings(queue: string): QueueSettings {
    return this.queues.get(queue) ?? { ...this.#fallback, queue };
  }

  /** Takes up to `count` tasks of a queue from one partition. @throws PaihaoError store-unavailable */
  reserve(
    partition: number,
    request: { queue: string; worker: string; reservation: string; count: number; leaseMs: number },
  ): Promise<{ tasks: Reserved[]; waiting: number | null }> {
    return this.#scripts.reserve(this.keys.tag(partition), request);
  }

  /** Prolongs a lease; "cancel" asks the worker to give the task up, "stale" says it is no longer the worker's. */
  renew(lease: Lease, leaseMs: number): Promise<"ok" | "cancel" | "stale"> {
    return this.#renewals.add(this.keys.partitionOf(lease.id), { ...lease, leaseMs });
  }

  /** Cancels a task, or destroys the result of a finished one. */
  cancel(id: string, queue: string): Promise<CancelVerdict> {
    return this.#cancels.add(this.keys.partitionOf(id), { id, ...retentionOf(this.settings(queue)) });
  }

  /** Keeps how far a running task is. */
  progress(lease: Lease, percent: number, message: string): Promise<"ok" | "stale"> {
    return this.#reports.add(this.keys.partitionOf(lease.id), {
      id: lease.id,
      fence: lease.fence,
      progress: `${percent} ${message}`,
    });
  }

  /** The steps kept of a running task, name → JSON; null when the lease is stale. */
  steps(lease: Lease): Promise<Map<string, string> | null> {
    return this.#scripts.steps(this.keys.tag(this.keys.partitionOf(lease.id)), lease);
  }

  keepStep(lease: Lease, name: string, value: string): Promise<"ok" | "stale"> {
    const { id, fence } = lease;
    return this.#scripts.keepStep(this.keys.tag(this.keys.partitionOf(id)), { id, fence, name, value });
  }

  /** Does what time does to all queues of a partition: promotes, reclaims, purges. */
  async tick(partition: number): Promise<Ticked> {
    const queues = [...this.queues.values()].map((settings) => ({
      queue: settings.queue,
      maxLost: settings.maxLost,
      ...retentionOf(settings),
      deadMs: settings.deadTtlMs,
      problem: encodeResult(catalogueResult("worker-lost")),
    }));
    const ticks: Ticked[] = [];
    for (let i = 0; i < queues.length; i += TICK_QUEUES) {
      const some = queues.slice(i, i + TICK_QUEUES);
      ticks.push(await this.#scripts.tick(this.keys.tag(partition), some, { limit: TICK_LIMIT, deadCap: DEAD_CAP }));
    }
    const nexts = ticks.flatMap((t) => (t.nextMs === null ? [] : [t.nextMs]));
    return {
      promoted: ticks.reduce((sum, t) => sum + t.promoted, 0),
      nextMs: nexts.length > 0 ? Math.min(...nexts) : null,
      lost: ticks.flatMap((t) => t.lost),
    };
  }

  /** Says to every partition that a worker lives, with its slots of each queue; `ttlMs` 0 says goodbye. */
  async heartbeat(worker: string, ttlMs: number, slots: ReadonlyMap<string, number>): Promise<void> {
    await Promise.all(this.keys.tags.map((tag) => this.#scripts.heartbeat(tag, worker, ttlMs, slots)));
  }

  /** The figures of queues, summed over the partitions, in the order asked for. */
  async figures(names: readonly string[]): Promise<QueueRow[]> {
    if (names.length === 0) return [];
    const parts = await Promise.all(this.keys.tags.map((tag) => this.#scripts.queues(tag, names)));
    const [first = [], ...rest] = parts;
    return first.map((row, i) => rest.reduce((sum, part) => addFigures(sum, part[i]), row));
  }
}

function addFigures(a: QueueRow, b: QueueRow | undefined): QueueRow {
  if (!b) return a;
  const samples = a.line.samples + b.line.samples;
  const weighted = (x: number | null, y: number | null): number | null =>
    samples === 0 ? (x ?? y) : ((x ?? 0) * a.line.samples + (y ?? 0) * b.line.samples) / samples;
  return {
    line: {
      ...a.line,
      waiting: a.line.waiting + b.line.waiting,
      scheduled: a.line.scheduled + b.line.scheduled,
      running: a.line.running + b.line.running,
      paused: a.line.paused || b.line.paused,
      meanMs: weighted(a.line.meanMs, b.line.meanMs),
      variance: weighted(a.line.variance, b.line.variance),
      samples,
    },
    dead: a.dead + b.dead,
    oldestWaitingMs: largest(a.oldestWaitingMs, b.oldestWaitingMs),
    acceptedLastMinute: a.acceptedLastMinute + b.acceptedLastMinute,
    finishedLastMinute: a.finishedLastMinute + b.finishedLastMinute,
  };
}

function largest(a: number | null, b: number | null): number | null {
  return a === null ? b : b === null ? a : Math.max(a, b);
}
