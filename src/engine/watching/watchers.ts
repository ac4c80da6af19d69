import { Loop } from "../../loop.ts";
import type { Engine } from "../engine.ts";
import type { Inspection } from "../reading/inspect.ts";
import type { Listening } from "./notices.ts";
import { versionOf } from "./version.ts";

/** Told what a task has become; null when it is no longer known. One that throws keeps nobody else from being told. */
export type WatchListener = (seen: Inspection | null) => void;

/** A watch that has begun. */
export interface Watch {
  /** The task when the watch began; null when it is not known. */
  readonly first: Inspection | null;
  /** Ends the watch; idempotent. */
  stop(): void;
}

/** How watching goes on. */
const WATCH_DEFAULTS = {
  /** Pause between two looks at all watched places, ms: an index is news at most so often. */
  passMs: 1000,
  /** Every task is looked at in one of so many passes, whatever is told of it: a notice may be lost. */
  fullEvery: 10,
  /** Tasks that are looked at together: a pass over many must not hold up Redis for others. */
  slice: 1000,
} as const;

/** What a watcher of tasks may be told. */
export interface WatchersOptions {
  /** Told of looks that failed; they are taken again with the next pass. */
  onError?(error: unknown): void;
  /** Default {@link WATCH_DEFAULTS.passMs}. */
  readonly passMs?: number;
}

/** A task that is watched, however many watch it. */
interface Entry {
  readonly id: string;
  /** Which of the passes looks at it anyway. */
  readonly pass: number;
  readonly listeners: Set<WatchListener>;
  latest: Inspection | null;
  /** The number of the look that brought it. */
  latestLook: number;
  version: string;
  /** Changed, but not yet successfully looked at. */
  due: boolean;
  looking: boolean;
  /** Its record names this process, as far as is known. */
  listed: boolean;
  readonly listening: Listening;
}

/** What is watched. */
interface WatchedEngine extends Pick<Engine, "notices"> {
  readonly tasks: Pick<Engine["tasks"], "inspect">;
  readonly queues: Pick<Engine["queues"], "figures">;
}

/**
 * Watches tasks for all callers of this process. What happens to a task is told by notices; that others before it have
 * started is not, so one pass a second looks at the places of all that wait, and only where their queue has moved. An idle
 * watcher costs no timer. Works as long as anything is watched, and needs neither start nor stop.
 */
export class Watchers {
  readonly #engine: WatchedEngine;
  readonly #entries = new Map<string, Entry>();
  readonly #loop: Loop;
  readonly #onError: (error: unknown) => void;
  readonly #passMs: number;
  #passes = 0;
  #opened = 0;
  /** Looks begun: they are numbered, since the store's clock may be set back. */
  #looks = 0;
  /** The figures of each queue at the last pass. */
  #figures = new Map<string, string>();

  constructor(engine: WatchedEngine, options: WatchersOptions = {}) {
    this.#engine = engine;
    this.#onError = options.onError ?? (() => undefined);
    this.#passMs = options.passMs ?? WATCH_DEFAULTS.passMs;
    // A loop varies its pauses by a fifth: this usual one is never shorter than what the tick asks for.
    this.#loop = new Loop({
      tick: () => this.#pass(),
      intervalMs: this.#passMs * 1.25,
      onError: this.#onError,
    });
  }

  /** How many tasks are watched. */
  get size(): number {
    return this.#entries.size;
  }

  /**
   * Begins to watch a task: the listener is told of every change after `first`, and may be told of one twice.
   * @throws PaihaoError store-unavailable
   */
  async watch(id: string, listener: WatchListener): Promise<Watch> {
    const entry = this.#entries.get(id) ?? this.#open(id);
    entry.listeners.add(listener);
    const stop = () => this.#leave(entry, listener);
    try {
      // First listen, then look: else a change could slip through between.
      await entry.listening.ready;
      const look = this.#beginLook();
      const seen = await this.#inspect(entry, !entry.listed);
      // A look for someone else may have overtaken this one.
      const overtaken = entry.latestLook > look;
      this.#tell(entry, seen, { look, ofPass: false });
      return { first: overtaken && seen && entry.latest ? entry.latest : seen, stop };
    } catch (error) {
      stop();
      throw error;
    }
  }

  /** @param list adds this process to the listeners of the task, where its record does not name it */
  async #inspect(entry: Entry, list: boolean): Promise<Inspection | null> {
    const seen = await this.#engine.tasks.inspect(entry.id, { result: false, listen: list });
    // Another task may come to have the id: its record names nobody yet.
    if (list || seen === null) entry.listed = seen !== null;
    return seen;
  }

  #beginLook(): number {
    this.#looks += 1;
    return this.#looks;
  }

  #open(id: string): Entry {
    this.#opened += 1;
    const entry: Entry = {
      id,
      pass: this.#opened % WATCH_DEFAULTS.fullEvery,
      listeners: new Set(),
      latest: null,
      latestLook: 0,
      version: "",
      due: false,
      looking: false,
      listed: false,
      listening: this.#engine.notices.listen(id, (notice) => {
        if (!notice?.output) this.#noticed(entry);
      }),
    };
    this.#entries.set(id, entry);
    if (this.#entries.size === 1) this.#loop.start();
    return entry;
  }

  #leave(entry: Entry, listener: WatchListener): void {
    if (!entry.listeners.delete(listener) || entry.listeners.size > 0) return;
    this.#entries.delete(entry.id);
    entry.listening.stop();
    if (this.#entries.size > 0) return;
    this.#figures.clear();
    this.#loop.stop().catch(this.#onError);
  }

  /** Looks at a task of which something was told; notices that come meanwhile are answered by one more look. */
  #noticed(entry: Entry): void {
    entry.due = true;
    if (entry.looking) return;
    entry.looking = true;
    this.#follow(entry)
      .catch(this.#onError)
      .finally(() => {
        entry.looking = false;
      });
  }

  async #follow(entry: Entry): Promise<void> {
    while (entry.due && entry.listeners.size > 0) await this.#look(entry, false);
  }

  async #look(entry: Entry, ofPass: boolean): Promise<void> {
    entry.due = false;
    try {
      const look = this.#beginLook();
      // A store that has failed over may have lost who listens.
      const list = !entry.listed || (ofPass && entry.pass === this.#passes % WATCH_DEFAULTS.fullEvery);
      this.#tell(entry, await this.#inspect(entry, list), { look, ofPass });
    } catch (error) {
      entry.due = true;
      throw error;
    }
  }

  #tell(entry: Entry, seen: Inspection | null, { look, ofPass }: { look: number; ofPass: boolean }): void {
    const { latest } = entry;
    // Looks that cross each other may come back in another order.
    if (seen && look < entry.latestLook) return;
    entry.latestLook = look;
    const version = seen ? versionOf(seen) : "";
    const isFirst = latest === null;
    if (version === entry.version) {
      entry.latest = seen;
      return;
    }
    // A place that has merely moved is news of the next pass.
    if (!ofPass && seen && latest && versionOf({ ...seen, index: latest.index }) === entry.version) return;
    entry.latest = seen;
    entry.version = version;
    if (isFirst) return;
    for (const listener of [...entry.listeners]) {
      try {
        listener(seen);
      } catch (error) {
        this.#onError(error);
      }
    }
  }

  async #pass(): Promise<number> {
    this.#passes += 1;
    const turn = this.#passes % WATCH_DEFAULTS.fullEvery;
    const waiting = new Set<string>();
    for (const { latest } of this.#entries.values()) if (latest?.state === "waiting") waiting.add(latest.queue);
    const moved = await this.#movedOf([...waiting]);
    const entries = [...this.#entries.values()].filter(
      ({ latest, due, pass }) => due || pass === turn || (latest?.state === "waiting" && moved.has(latest.queue)),
    );
    const { slice } = WATCH_DEFAULTS;
    for (let n = 0; n < entries.length; n += slice) {
      await Promise.all(entries.slice(n, n + slice).map((entry) => this.#look(entry, true)));
    }
    return this.#passMs;
  }

  /** Those of the queues whose figures are others than at the last pass: only there can anyone have moved up. */
  async #movedOf(queues: readonly string[]): Promise<ReadonlySet<string>> {
    const figures = new Map<string, string>();
    const rows = await this.#engine.queues.figures(queues);
    for (const [n, queue] of queues.entries()) {
      const row = rows[n];
      // How long the oldest has waited changes by itself.
      figures.set(queue, JSON.stringify(row && { ...row, oldestWaitingMs: null }));
    }
    const moved = new Set(queues.filter((queue) => figures.get(queue) !== this.#figures.get(queue)));
    this.#figures = figures;
    return moved;
  }
}
