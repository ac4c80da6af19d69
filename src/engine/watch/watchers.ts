import { Loop } from "../../loop.ts";
import type { Inspection } from "./inspect.ts";
import type { Subscription } from "./notices.ts";
import { Sleep } from "./sleep.ts";
import { type Common, Watch, type Watched, type WatchOptions } from "./watch.ts";

/** Limits for watching. */
const WATCH_DEFAULTS = {
  /** Pause between two checks of all watched places, ms: index changes are reported at most this often. */
  passMs: 1000,
  /** Each is read in one of this many passes even without a notice, since a notice may be lost. */
  fullEvery: 10,
  /** The output of each may have more values in one of this many passes, even without a notice. */
  outputEvery: 3,
  /** How many are read together: a pass over many must not block Redis for others. */
  slice: 1000,
} as const;

/** The options of {@link Watchers}. */
export interface WatchersOptions {
  /** Called for failed reads, which are repeated in the next pass. */
  onError?(error: unknown): void;
  /** Default {@link WATCH_DEFAULTS.passMs}. */
  readonly passMs?: number;
}

/** A watched task or group, with all its watches. */
interface Entry<Seen extends Common> {
  readonly id: string;
  /** Which of the passes reads it even without a notice. */
  readonly pass: number;
  readonly watches: Set<Watch<Seen>>;
  /** {@link Watch.outputs} of its watches. */
  outputs: number;
  latest: Seen | null;
  /** When it was read, on the clock of `performance.now()`. */
  latestAt: number;
  /** The number of the read that it came from. */
  latestLook: number;
  version: string;
  /** Changed, but not yet read successfully. */
  due: boolean;
  looking: boolean;
  /** The pause before it may be read again. */
  readonly rest: Sleep;
  /** Its record names this process, as far as is known. */
  listed: boolean;
  readonly listening: Subscription;
}

/**
 * Watches tasks or groups for all callers of this process. Notices report what happens to a task, but not that others before it have
 * started: one pass a second reads the places of those that wait in queues that have moved. While nothing is watched it has no timer, so it
 * needs neither start nor stop.
 */
export class Watchers<Seen extends Common = Inspection> {
  readonly #of: Watched<Seen>;
  readonly #entries = new Map<string, Entry<Seen>>();
  readonly #loop: Loop;
  readonly #onError: (error: unknown) => void;
  readonly #passMs: number;
  #passes = 0;
  #opened = 0;
  /** Number of reads begun. Reads are ordered by it, since the store's clock may be set back. */
  #looks = 0;
  #outputs = 0;
  /** The figures of each queue at the last pass. */
  #figures = new Map<string, string>();

  constructor(of: Watched<Seen>, options: WatchersOptions = {}) {
    this.#of = of;
    this.#onError = options.onError ?? (() => undefined);
    this.#passMs = options.passMs ?? WATCH_DEFAULTS.passMs;
    // A loop varies its pauses by a fifth: with this margin none is shorter than what the tick asks for.
    this.#loop = new Loop({
      tick: () => this.#pass(),
      intervalMs: this.#passMs * 1.25,
      onError: this.#onError,
    });
  }

  /** How many are watched. */
  get size(): number {
    return this.#entries.size;
  }

  /** Begins to watch one. @throws ProblemError store-unavailable */
  async watch(one: Pick<Seen, "id" | "queue">, options: WatchOptions = {}): Promise<Watch<Seen>> {
    const entry = this.#entries.get(one.id) ?? this.#open(one);
    const watch = new Watch<Seen>(entry, options, () => this.#leave(entry, watch));
    entry.watches.add(watch);
    try {
      // Listen first, then read: otherwise a change could be missed in between.
      await entry.listening.ready;
      const look = this.#beginLook();
      const seen = await this.#inspect(entry, !entry.listed);
      // A read for another watch may have overtaken this one.
      const overtaken = entry.latestLook > look;
      this.#tell(entry, seen, { look, ofPass: false });
      watch.seen = overtaken && seen && entry.latest ? entry.latest : seen;
      return watch;
    } catch (error) {
      watch.stop();
      throw error;
    }
  }

  /** @param list adds this process to its listeners if its record does not name it */
  async #inspect(entry: Entry<Seen>, list: boolean): Promise<Seen | null> {
    const seen = await this.#of.inspect(entry.id, list);
    // Another may get the id later; its record names nobody yet.
    if (list || seen === null) entry.listed = seen !== null;
    return seen;
  }

  #beginLook(): number {
    this.#looks += 1;
    return this.#looks;
  }

  #open({ id, queue }: Pick<Seen, "id" | "queue">): Entry<Seen> {
    this.#opened += 1;
    const entry: Entry<Seen> = {
      id,
      pass: this.#opened % WATCH_DEFAULTS.fullEvery,
      watches: new Set(),
      outputs: this.#nextOutputs(),
      latest: null,
      latestAt: 0,
      latestLook: 0,
      version: "",
      due: false,
      looking: false,
      rest: new Sleep(),
      listed: false,
      listening: this.#of.notices.listen({ id: this.#of.address(id), queue }, (notice) => {
        if (notice === null || notice.output) this.#tellOutput(entry);
        if (notice?.output) return;
        this.#noticed(entry);
        if (notice?.ended) entry.rest.wake();
      }),
    };
    this.#entries.set(id, entry);
    if (this.#entries.size === 1) this.#loop.start();
    return entry;
  }

  #leave(entry: Entry<Seen>, watch: Watch<Seen>): void {
    entry.watches.delete(watch);
    // It was watched until now.
    if (watch.options.keeps && !isKept(entry) && this.#isToKeep(entry)) this.#keep(entry).catch(this.#onError);
    if (entry.watches.size > 0) return;
    this.#entries.delete(entry.id);
    entry.listening.stop();
    entry.rest.wake();
    if (this.#entries.size > 0) return;
    this.#figures.clear();
    this.#loop.stop().catch(this.#onError);
  }

  /** Reads it after a notice; notices that arrive during the read or the rest after it cause one more read. */
  #noticed(entry: Entry<Seen>): void {
    entry.due = true;
    if (entry.looking) return;
    entry.looking = true;
    this.#follow(entry)
      .catch(this.#onError)
      .finally(() => {
        entry.looking = false;
      });
  }

  async #follow(entry: Entry<Seen>): Promise<void> {
    while (entry.due && entry.watches.size > 0) {
      await this.#look(entry, false);
      await entry.rest.for(this.#of.restMs);
    }
  }

  async #look(entry: Entry<Seen>, ofPass: boolean): Promise<void> {
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

  #tell(entry: Entry<Seen>, seen: Seen | null, { look, ofPass }: { look: number; ofPass: boolean }): void {
    const { latest } = entry;
    // Concurrent reads may return in another order.
    if (seen && look < entry.latestLook) return;
    entry.latestLook = look;
    entry.latestAt = performance.now();
    const version = seen ? this.#of.versionOf(seen) : "";
    const isFirst = latest === null;
    if (version === entry.version) {
      entry.latest = seen;
      return;
    }
    // A changed place alone is reported by the next pass.
    if (!ofPass && seen && latest && this.#of.versionOf({ ...seen, index: latest.index }) === entry.version) return;
    entry.latest = seen;
    entry.version = version;
    if (isFirst) return;
    for (const watch of entry.watches) {
      watch.seen = seen;
      watch.wake();
    }
  }

  /** Its task may have written more. */
  #tellOutput(entry: Entry<Seen>): void {
    entry.outputs = this.#nextOutputs();
    for (const watch of entry.watches) if (watch.options.output) watch.wake();
  }

  /** Greater than that of any entry before, since the outputs that were read may outlive an entry. */
  #nextOutputs(): number {
    this.#outputs += 1;
    return this.#outputs;
  }

  async #pass(): Promise<number> {
    this.#passes += 1;
    const turn = this.#passes % WATCH_DEFAULTS.fullEvery;
    const { outputEvery } = WATCH_DEFAULTS;
    for (const entry of this.#entries.values())
      if (entry.pass % outputEvery === this.#passes % outputEvery) this.#tellOutput(entry);
    await this.#keepWatched();
    const waiting = new Set<string>();
    for (const { latest } of this.#entries.values())
      if (latest !== null && latest.index !== null) waiting.add(latest.queue);
    const moved = await this.#movedOf([...waiting]);
    const entries = [...this.#entries.values()].filter(
      ({ latest, due, pass }) =>
        due || pass === turn || (latest !== null && latest.index !== null && moved.has(latest.queue)),
    );
    await inSlices(entries, (entry) => this.#look(entry, true));
    return this.#passMs;
  }

  /** Keeps those with a presence that somebody watches. What fails is repeated in the next pass. */
  async #keepWatched(): Promise<void> {
    const watched = [...this.#entries.values()].filter((entry) => isKept(entry) && this.#isToKeep(entry));
    await inSlices(watched, (entry) => this.#keep(entry).catch(this.#onError));
  }

  #isToKeep({ latest }: Entry<Seen>): boolean {
    return latest !== null && this.#of.isKeptByLooks(latest);
  }

  async #keep(entry: Entry<Seen>): Promise<void> {
    const { latest, latestAt } = entry;
    if (latest === null) return;
    const verdict = await this.#of.attend(latest);
    // It has changed since it was read last.
    if (verdict !== "kept" || entry.latest !== latest) entry.due = true;
    else entry.latest = { ...latest, presentUntilMs: this.#of.keptUntil(latest, nowOf(latest, latestAt)) };
  }

  /** The queues whose figures differ from the last pass: only there can anyone have moved up. */
  async #movedOf(queues: readonly string[]): Promise<ReadonlySet<string>> {
    const figures = new Map<string, string>();
    const rows = await this.#of.queues.figures(queues);
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

function isKept<Seen extends Common>({ watches }: Entry<Seen>): boolean {
  for (const { options } of watches) if (options.keeps) return true;
  return false;
}

/** The time by the clock of the store, ms, from the last reading. */
const nowOf = ({ nowMs }: Pick<Inspection, "nowMs">, atMs: number): number => nowMs + performance.now() - atMs;

async function inSlices<T>(entries: readonly T[], act: (entry: T) => Promise<void>): Promise<void> {
  const { slice } = WATCH_DEFAULTS;
  for (let n = 0; n < entries.length; n += slice) await Promise.all(entries.slice(n, n + slice).map(act));
}
