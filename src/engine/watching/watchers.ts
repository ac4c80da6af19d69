import { Loop } from "../../loop.ts";
import type { Engine } from "../engine.ts";
import type { Inspection } from "../reading/inspect.ts";
import { isLookDue, keptUntil } from "../reading/presence.ts";
import type { Subscription } from "./notices.ts";
import { versionOf } from "./version.ts";

/** Called with the new state of a task; null if it no longer exists. If it throws, the other listeners are still called. */
export type WatchListener = (seen: Inspection | null) => void;

/** A watch of a task. */
export interface Watch {
  /** The task when the watch began; null when it is not known. */
  readonly first: Inspection | null;
  /** Ends the watch; idempotent. */
  stop(): void;
}

/** Limits for watching. */
const WATCH_DEFAULTS = {
  /** Pause between two checks of all watched places, ms: index changes are reported at most this often. */
  passMs: 1000,
  /** Every task is read in one of this many passes even without a notice, since a notice may be lost. */
  fullEvery: 10,
  /** Tasks that are read together: a pass over many must not block Redis for others. */
  slice: 1000,
} as const;

/** The options of {@link Watchers}. */
export interface WatchersOptions {
  /** Called for failed reads, which are repeated in the next pass. */
  onError?(error: unknown): void;
  /** Default {@link WATCH_DEFAULTS.passMs}. */
  readonly passMs?: number;
}

/** What must be known of a task to watch it. */
type WatchableTask = Pick<Inspection, "id" | "queue">;

/** A watched task, with all its watchers. */
interface WatchedTask {
  readonly id: string;
  /** Which of the passes reads it even without a notice. */
  readonly pass: number;
  readonly listeners: Set<WatchListener>;
  /** Watchers that count for the presence of the task. */
  readonly attendants: Set<WatchListener>;
  latest: Inspection | null;
  /** When it was read, on the clock of `performance.now()`. */
  latestAt: number;
  /** The number of the read that it came from. */
  latestLook: number;
  version: string;
  /** Changed, but not yet read successfully. */
  due: boolean;
  looking: boolean;
  /** Its record names this process, as far as is known. */
  listed: boolean;
  readonly listening: Subscription;
}

/** The part of an engine that watching needs. */
interface WatchedEngine extends Pick<Engine, "notices"> {
  readonly tasks: Pick<Engine["tasks"], "inspect" | "attend">;
  readonly queues: Pick<Engine["queues"], "figures">;
}

/**
 * Watches tasks for all callers of this process. Notices report what happens to a task, but not that others before it have started: one
 * pass a second reads the places of waiting tasks whose queues have moved. Without watched tasks it has no timer, so it needs neither start
 * nor stop.
 */
export class Watchers {
  readonly #engine: WatchedEngine;
  readonly #entries = new Map<string, WatchedTask>();
  readonly #loop: Loop;
  readonly #onError: (error: unknown) => void;
  readonly #passMs: number;
  #passes = 0;
  #opened = 0;
  /** Number of reads begun. Reads are ordered by it, since the store's clock may be set back. */
  #looks = 0;
  /** The figures of each queue at the last pass. */
  #figures = new Map<string, string>();

  constructor(engine: WatchedEngine, options: WatchersOptions = {}) {
    this.#engine = engine;
    this.#onError = options.onError ?? (() => undefined);
    this.#passMs = options.passMs ?? WATCH_DEFAULTS.passMs;
    // A loop varies its pauses by a fifth: with this margin none is shorter than what the tick asks for.
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
   * Begins to watch a task: the listener is called for every change after `first`, perhaps twice for one.
   * @param keeps whether the watch counts for the presence of the task, for as long as it lasts
   * @throws ProblemError store-unavailable
   */
  async watch(task: WatchableTask, listener: WatchListener, keeps = false): Promise<Watch> {
    const entry = this.#entries.get(task.id) ?? this.#open(task);
    entry.listeners.add(listener);
    if (keeps) entry.attendants.add(listener);
    const stop = () => this.#leave(entry, listener);
    try {
      // Listen first, then read: otherwise a change could be missed in between.
      await entry.listening.ready;
      const look = this.#beginLook();
      const seen = await this.#inspect(entry, !entry.listed);
      // A read for another watcher may have overtaken this one.
      const overtaken = entry.latestLook > look;
      this.#tell(entry, seen, { look, ofPass: false });
      return { first: overtaken && seen && entry.latest ? entry.latest : seen, stop };
    } catch (error) {
      stop();
      throw error;
    }
  }

  /** @param list adds this process to the listeners of the task if its record does not name it */
  async #inspect(entry: WatchedTask, list: boolean): Promise<Inspection | null> {
    const seen = await this.#engine.tasks.inspect(entry.id, { result: false, listen: list });
    // Another task may get the id later; its record names nobody yet.
    if (list || seen === null) entry.listed = seen !== null;
    return seen;
  }

  #beginLook(): number {
    this.#looks += 1;
    return this.#looks;
  }

  #open(task: WatchableTask): WatchedTask {
    const { id } = task;
    this.#opened += 1;
    const entry: WatchedTask = {
      id,
      pass: this.#opened % WATCH_DEFAULTS.fullEvery,
      listeners: new Set(),
      attendants: new Set(),
      latest: null,
      latestAt: 0,
      latestLook: 0,
      version: "",
      due: false,
      looking: false,
      listed: false,
      listening: this.#engine.notices.listen(task, (notice) => {
        if (!notice?.output) this.#noticed(entry);
      }),
    };
    this.#entries.set(id, entry);
    if (this.#entries.size === 1) this.#loop.start();
    return entry;
  }

  #leave(entry: WatchedTask, listener: WatchListener): void {
    entry.attendants.delete(listener);
    if (!entry.listeners.delete(listener) || entry.listeners.size > 0) return;
    this.#entries.delete(entry.id);
    entry.listening.stop();
    if (this.#entries.size > 0) return;
    this.#figures.clear();
    this.#loop.stop().catch(this.#onError);
  }

  /** Reads a task after a notice; notices that arrive during the read cause one more read. */
  #noticed(entry: WatchedTask): void {
    entry.due = true;
    if (entry.looking) return;
    entry.looking = true;
    this.#follow(entry)
      .catch(this.#onError)
      .finally(() => {
        entry.looking = false;
      });
  }

  async #follow(entry: WatchedTask): Promise<void> {
    while (entry.due && entry.listeners.size > 0) await this.#look(entry, false);
  }

  async #look(entry: WatchedTask, ofPass: boolean): Promise<void> {
    entry.due = false;
    try {
      const look = this.#beginLook();
      // After a failover the store may no longer know who listens.
      const list = !entry.listed || (ofPass && entry.pass === this.#passes % WATCH_DEFAULTS.fullEvery);
      this.#tell(entry, await this.#inspect(entry, list), { look, ofPass });
    } catch (error) {
      entry.due = true;
      throw error;
    }
  }

  #tell(entry: WatchedTask, seen: Inspection | null, { look, ofPass }: { look: number; ofPass: boolean }): void {
    const { latest } = entry;
    // Concurrent reads may return in another order.
    if (seen && look < entry.latestLook) return;
    entry.latestLook = look;
    entry.latestAt = performance.now();
    const version = seen ? versionOf(seen) : "";
    const isFirst = latest === null;
    if (version === entry.version) {
      entry.latest = seen;
      return;
    }
    // A changed place alone is reported by the next pass.
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
    await this.#keepWatched();
    const waiting = new Set<string>();
    for (const { latest } of this.#entries.values()) if (latest?.state === "waiting") waiting.add(latest.queue);
    const moved = await this.#movedOf([...waiting]);
    const entries = [...this.#entries.values()].filter(
      ({ latest, due, pass }) => due || pass === turn || (latest?.state === "waiting" && moved.has(latest.queue)),
    );
    await inSlices(entries, (entry) => this.#look(entry, true));
    return this.#passMs;
  }

  /** Keeps the tasks with a presence that somebody watches. What fails is repeated in the next pass. */
  async #keepWatched(): Promise<void> {
    const absent = [...this.#entries.values()].filter(
      ({ attendants, latest, latestAt }) =>
        attendants.size > 0 && latest !== null && isLookDue(latest, nowOf(latest, latestAt)),
    );
    await inSlices(absent, (entry) => this.#keep(entry).catch(this.#onError));
  }

  async #keep(entry: WatchedTask): Promise<void> {
    const { latest, latestAt } = entry;
    if (latest === null) return;
    const verdict = await this.#engine.tasks.attend(latest);
    // It has changed since it was read last.
    if (verdict !== "kept" || entry.latest !== latest) entry.due = true;
    else entry.latest = { ...latest, presentUntilMs: keptUntil(latest, nowOf(latest, latestAt)) };
  }

  /** The queues whose figures differ from the last pass: only there can anyone have moved up. */
  async #movedOf(queues: readonly string[]): Promise<ReadonlySet<string>> {
    const figures = new Map<string, string>();
    const rows = await this.#engine.queues.figures(queues);
    for (const [n, queue] of queues.entries()) {
      const row = rows[n];
      // The wait of the oldest task changes by itself, so it is left out.
      figures.set(queue, JSON.stringify(row && { ...row, oldestWaitingMs: null }));
    }
    const moved = new Set(queues.filter((queue) => figures.get(queue) !== this.#figures.get(queue)));
    this.#figures = figures;
    return moved;
  }
}

/** The time by the clock of the store, ms, from the last reading of a task. */
const nowOf = ({ nowMs }: Inspection, atMs: number): number => nowMs + performance.now() - atMs;

async function inSlices(entries: readonly WatchedTask[], act: (entry: WatchedTask) => Promise<void>): Promise<void> {
  const { slice } = WATCH_DEFAULTS;
  for (let n = 0; n < entries.length; n += slice) await Promise.all(entries.slice(n, n + slice).map(act));
}
