import type { Index, Keys } from "../store/keys.ts";
import type { QueueRow } from "../store/verbs/queue.ts";
import type { Scripts } from "../store/verbs/scripts.ts";
import { figuresOf, holdsTasks } from "./monitoring/figures.ts";
import { finishedOf, type Page, type PageRequest, pageOf } from "./reading/page.ts";
import type { QueueSettings } from "./settings.ts";

/** Processes register the queues of their handlers every thirty seconds; a queue that none has registered for this long is orphaned, ms. */
const ORPHANED_MS = 60_000;

/** The dependencies of {@link Queues}. */
export interface QueuesParts {
  readonly scripts: Scripts;
  readonly keys: Keys;
  /** The queues that this process has handlers for, by name. */
  readonly own: ReadonlyMap<string, QueueSettings>;
  /** Settings for tasks of other queues that are still in the store. */
  readonly fallback: QueueSettings;
  /** The queues of other processes, and how long none has registered them, ms; as last read. */
  others(): ReadonlyMap<string, number>;
}

/** The queues of this process and of others. */
export class Queues {
  /** Those that this process has handlers for, by name. */
  readonly own: ReadonlyMap<string, QueueSettings>;
  readonly #parts: QueuesParts;

  constructor(parts: QueuesParts) {
    this.own = parts.own;
    this.#parts = parts;
  }

  /** The settings of a queue, even if it has no handler here. */
  settings(queue: string): QueueSettings {
    return this.own.get(queue) ?? { ...this.#parts.fallback, queue };
  }

  /** The names of all queues: first those with a handler here, then the others by name, with or without a handler in another process. */
  get names(): string[] {
    return [...this.own.keys(), ...[...this.#parts.others().keys()].sort()];
  }

  /** Whether there is such a queue, with or without a handler here. */
  has(queue: string): boolean {
    return this.own.has(queue) || this.#parts.others().has(queue);
  }

  /** Whether no process has a handler for a queue. */
  isOrphaned({ snapshot: { queue, workers } }: QueueRow): boolean {
    return workers === 0 && (this.#parts.others().get(queue) ?? 0) > ORPHANED_MS;
  }

  /** The figures of queues, in the given order. */
  figures(names: readonly string[]): Promise<QueueRow[]> {
    return figuresOf(this.#parts.scripts, this.#parts.keys, names);
  }

  /** The figures of all queues; an orphaned one without tasks is left out. */
  async allFigures(): Promise<QueueRow[]> {
    const rows = await this.figures(this.names);
    return rows.filter((row) => holdsTasks(row) || !this.isOrphaned(row));
  }

  /** Pauses or resumes a queue. */
  async pause(queue: string, paused: boolean): Promise<void> {
    const { scripts, keys } = this.#parts;
    await scripts.pause(keys.tagOfQueue(queue), { queue, paused });
  }

  /** The tasks of an index after a given place, in order. */
  page(index: Index, request: PageRequest): Promise<Page> {
    return pageOf(this.#parts, index, request);
  }

  /** The tasks of a queue that finished last, after a given place, the newest first. */
  finished(request: PageRequest): Promise<Page> {
    return finishedOf(this.#parts, request);
  }
}
