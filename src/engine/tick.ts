import type { Keys } from "../store/keys.ts";
import { encodeResult } from "../store/result.ts";
import type { Scripts, Ticked, TickQueue } from "../store/scripts/scripts.ts";
import { BATCH_LIMIT } from "../store/scripts/scripts.ts";
import { catalogueResult } from "./problem.ts";
import { DEAD_CAP, type QueueSettings, retentionOf } from "./settings.ts";

/** Most tasks of each kind that one call of a tick moves. */
const TICK_LIMIT = 200;
/** Most queues that one tick looks at. */
const TICK_QUEUES = 50;
/** How often a process says which queues it has handlers for, and learns of all others, ms. */
const REGISTER_MS = 10_000;
/** A queue that nobody has said so of for so long is forgotten when it holds no tasks, ms. */
const FORGET_MS = 86_400_000;

/**
 * Lets time pass in all queues there are. Each process registers those that it has handlers for, in every partition; one whose
 * handler is gone from all processes is looked after by the others, by the settings that it had.
 */
export class Tick {
  readonly #scripts: Scripts;
  readonly #keys: Keys;
  readonly #own: readonly TickQueue[];
  /** By partition, the queues of others, and when they were last asked for, on the clock of `performance.now()`. */
  readonly #others: { readonly queues: readonly TickQueue[]; readonly atMs: number }[] = [];

  constructor(scripts: Scripts, keys: Keys, queues: ReadonlyMap<string, QueueSettings>) {
    this.#scripts = scripts;
    this.#keys = keys;
    this.#own = [...queues.values()].map(lossOf);
  }

  /** Promotes, reclaims and purges in one partition. @throws PaihaoError store-unavailable */
  async run(partition: number): Promise<Ticked> {
    const tag = this.#keys.tag(partition);
    const queues = [...this.#own, ...(await this.#othersOf(partition))];
    const ticks: Ticked[] = [];
    for (let i = 0; i < queues.length; i += TICK_QUEUES) {
      const some = queues.slice(i, i + TICK_QUEUES);
      ticks.push(await this.#scripts.tick(tag, some, { limit: TICK_LIMIT, deadCap: DEAD_CAP }));
    }
    const nexts = ticks.flatMap((t) => (t.nextMs === null ? [] : [t.nextMs]));
    return {
      promoted: ticks.reduce((sum, t) => sum + t.promoted, 0),
      nextMs: nexts.length > 0 ? Math.min(...nexts) : null,
      lost: ticks.flatMap((t) => t.lost),
    };
  }

  /** The queues of a partition that have no handler in this process. What is registered is lost when the store is emptied: again and again. */
  async #othersOf(partition: number): Promise<readonly TickQueue[]> {
    const known = this.#others[partition];
    const nowMs = performance.now();
    if (known && nowMs - known.atMs < REGISTER_MS) return known.queues;
    const tag = this.#keys.tag(partition);
    const own = new Set(this.#own.map(({ queue }) => queue));
    let all: readonly Omit<TickQueue, "problem">[] = [];
    for (let i = 0; i === 0 || i < this.#own.length; i += BATCH_LIMIT) {
      const last = i + BATCH_LIMIT >= this.#own.length;
      all = await this.#scripts.register(tag, this.#own.slice(i, i + BATCH_LIMIT), last ? FORGET_MS : null);
    }
    const queues = all.filter(({ queue }) => !own.has(queue)).map((queue) => ({ ...queue, problem: workerLost() }));
    this.#others[partition] = { queues, atMs: nowMs };
    return queues;
  }
}

const workerLost = () => encodeResult(catalogueResult("worker-lost"));

/** What a loss of its worker means to a task of a queue. */
export function lossOf(settings: QueueSettings): TickQueue {
  return {
    queue: settings.queue,
    maxLost: settings.maxLost,
    ...retentionOf(settings),
    deadMs: settings.deadTtlMs,
    problem: workerLost(),
  };
}
