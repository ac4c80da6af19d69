import type { Index, Keys } from "../store/keys.ts";
import type { Scripts } from "../store/library/scripts.ts";
import { BATCH_LIMIT } from "../store/library/verb.ts";
import { type QueueRow, storedRate } from "../store/line/queue.ts";
import { queueBatches } from "./calls/homes.ts";
import type { QueueSettings } from "./settings.ts";
import { finishedOf, type Page, type PageRequest, pageOf, type Scans } from "./watch/pages.ts";

/** Processes register the queues of their handlers every thirty seconds; a queue that none has registered for this long is orphaned, ms. */
const ORPHANED_MS = 60_000;

/** What holds a queue in place of what its handler declares; null takes it back, undefined leaves it as it is. */
export interface Adjustment {
  readonly rate?: QueueSettings["rate"] | null;
  /** Of each worker process. */
  readonly concurrency?: number | null | undefined;
  /** Over all processes. */
  readonly total?: number | null | undefined;
}

/** The queues of this process and of others. */
export class Queues {
  /** Those that this process has handlers for, by name. */
  readonly own: ReadonlyMap<string, QueueSettings>;
  readonly #scripts: Scripts;
  readonly #keys: Keys;
  readonly #fallback: QueueSettings;
  readonly #others: () => ReadonlyMap<string, number>;
  readonly #scans: Scans;

  /**
   * @param fallback settings for tasks of other queues that are still in the store
   * @param others the queues of other processes, and how long none has registered them, ms; as last read
   */
  constructor(
    scripts: Scripts,
    keys: Keys,
    own: ReadonlyMap<string, QueueSettings>,
    fallback: QueueSettings,
    others: () => ReadonlyMap<string, number>,
    scans: Scans,
  ) {
    this.#scripts = scripts;
    this.#keys = keys;
    this.own = own;
    this.#fallback = fallback;
    this.#others = others;
    this.#scans = scans;
  }

  /** The settings of a queue, even if it has no handler here. */
  settings(queue: string): QueueSettings {
    return this.own.get(queue) ?? { ...this.#fallback, queue };
  }

  /** The names of all queues: first those with a handler here, then the others by name, with or without a handler in another process. */
  get names(): string[] {
    return [...this.own.keys(), ...[...this.#others().keys()].sort()];
  }

  /** Whether there is such a queue, with or without a handler here. */
  has(queue: string): boolean {
    return this.own.has(queue) || this.#others().has(queue);
  }

  /** Whether no process has a handler for a queue. */
  isOrphaned({ snapshot: { queue, workers } }: QueueRow): boolean {
    return workers === 0 && (this.#others().get(queue) ?? 0) > ORPHANED_MS;
  }

  /** The figures of queues, in the given order. */
  figures(names: readonly string[]): Promise<QueueRow[]> {
    return figuresOf(this.#scripts, this.#keys, names);
  }

  /** The figures of all queues; an orphaned one without tasks is left out. */
  async allFigures(): Promise<QueueRow[]> {
    const rows = await this.figures(this.names);
    return rows.filter((row) => holdsTasks(row) || !this.isOrphaned(row));
  }

  /** Pauses or resumes a queue. */
  async pause(queue: string, paused: boolean): Promise<void> {
    await this.#scripts.pause(this.#keys.tagOfQueue(queue), { queue, paused });
  }

  /** Sets what holds a queue. */
  async adjust(queue: string, { rate, concurrency, total }: Adjustment): Promise<void> {
    const set = (value: number | null | undefined) => (value === null ? "-" : String(value ?? ""));
    const asked = {
      queue,
      rate: rate ? storedRate(rate) : rate === null ? "-" : "",
      concurrency: set(concurrency),
      total: set(total),
    };
    await this.#scripts.adjust(this.#keys.tagOfQueue(queue), asked);
  }

  /** The tasks of an index after a given place, in order; with a filter in a bounded step, in its turn. */
  page(index: Index, request: PageRequest): Promise<Page> {
    return this.#read(request, () => pageOf(this.#scripts, this.#keys, index, request));
  }

  /** The same of the tasks of a queue that finished last, the newest first. */
  finished(request: PageRequest): Promise<Page> {
    return this.#read(request, () => finishedOf(this.#scripts, this.#keys, request));
  }

  #read({ filter }: PageRequest, read: () => Promise<Page>): Promise<Page> {
    return filter === undefined ? read() : this.#scans.step(read);
  }
}

/** The figures of queues, in the given order. */
export async function figuresOf(
  scripts: Pick<Scripts, "queue">,
  keys: Keys,
  queues: readonly string[],
): Promise<QueueRow[]> {
  const batches = queueBatches(keys, queues, BATCH_LIMIT);
  const rows = (await Promise.all(batches.map(({ tag, queues: some }) => scripts.queue(tag, some)))).flat();
  if (batches.length <= 1) return rows;
  const byQueue = new Map(rows.map((row) => [row.snapshot.queue, row]));
  return queues.flatMap((queue) => byQueue.get(queue) ?? []);
}

/** Whether a queue has any task that has not ended for good. */
export function holdsTasks({ snapshot, dead }: QueueRow): boolean {
  return snapshot.waiting + snapshot.scheduled + snapshot.running + dead > 0;
}
