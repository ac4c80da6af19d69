import { Loop } from "../../loop.ts";
import type { OutputPart } from "../../store/verbs/output.ts";
import type { Engine } from "../engine.ts";
import type { Subscription } from "./notices.ts";

/** Consecutive values of an output. */
export interface OutputPage {
  /** The number of the first one. */
  readonly from: number;
  /** Each as JSON: `{ "seq", "run", "attempt", "data" }`. */
  readonly values: readonly string[];
  /** Characters of all of them. */
  readonly length: number;
  /** A text made from all values, cached for the next follower with the same key. */
  textOf(key: string, make: (values: readonly string[], from: number) => string): string;
}

/** A follower's subscription to an output. */
export interface FeedSubscription {
  readonly feed: OutputFeed;
  /** Ends it; idempotent. */
  stop(): void;
}

/** Limits for following outputs. */
const FEED_DEFAULTS = {
  /** Pause between two passes over the outputs that are followed, ms. */
  passMs: 1000,
  /** Each output is checked in one of this many passes even without a notice, since a notice may be lost. */
  lookEvery: 3,
  /** Characters of the pages cached for followers who need the same, over all tasks. */
  keptLength: 16 * 1024 ** 2,
} as const;

/**
 * Reads the outputs of tasks for all followers of this process: what several followers of a task want is read once, and nothing is buffered
 * for a slow one. A follower also watches the task (Watchers), so that its record names this process.
 */
export class OutputFeeds {
  readonly #engine: Pick<Engine, "outputs" | "notices">;
  readonly #onError: (error: unknown) => void;
  readonly #feeds = new Map<string, OutputFeed>();
  /** Feeds with a cached page, in the order in which they read it, with its length. */
  readonly #kept = new Map<OutputFeed, number>();
  #keptLength = 0;
  #passes = 0;
  readonly #loop: Loop;

  /** @param options `onError` is called for failed reads, which are repeated */
  constructor(
    engine: Pick<Engine, "outputs" | "notices">,
    options: { onError?(error: unknown): void; passMs?: number } = {},
  ) {
    this.#engine = engine;
    this.#onError = options.onError ?? (() => undefined);
    this.#loop = new Loop({
      tick: () => this.#pass(),
      intervalMs: options.passMs ?? FEED_DEFAULTS.passMs,
      onError: this.#onError,
    });
  }

  /** How many outputs are followed. */
  get size(): number {
    return this.#feeds.size;
  }

  /** Begins to follow the output of a task; `wake` is called when there may be more. */
  follow(task: { readonly id: string; readonly queue: string }, wake: () => void): FeedSubscription {
    const { id } = task;
    const feed = this.#feeds.get(id) ?? this.#open(task);
    feed.followers.add(wake);
    return {
      feed,
      stop: () => {
        if (feed.followers.delete(wake) && feed.followers.size === 0) this.#close(id, feed);
      },
    };
  }

  #open(task: { readonly id: string; readonly queue: string }): OutputFeed {
    const { id } = task;
    const { outputs, notices } = this.#engine;
    const feed = new OutputFeed({
      read: (from) => outputs.read(task, from),
      keep: (length) => this.#keep(feed, length),
    });
    feed.listening = notices.listen(task, (notice) => {
      if (notice === null || notice.output) feed.refresh().catch(this.#onError);
    });
    this.#feeds.set(id, feed);
    if (this.#feeds.size === 1) this.#loop.start();
    return feed;
  }

  #close(id: string, feed: OutputFeed): void {
    this.#feeds.delete(id);
    feed.listening?.stop();
    this.#keep(feed, 0);
    if (this.#feeds.size === 0) this.#loop.stop().catch(this.#onError);
  }

  /** Notes that a feed caches a page of this length, and drops the pages that were read longest ago. */
  #keep(feed: OutputFeed, length: number): void {
    this.#keptLength += length - (this.#kept.get(feed) ?? 0);
    this.#kept.delete(feed);
    if (length > 0) this.#kept.set(feed, length);
    for (const [oldest, its] of this.#kept) {
      if (this.#keptLength <= FEED_DEFAULTS.keptLength) return;
      this.#kept.delete(oldest);
      this.#keptLength -= its;
      oldest.drop();
    }
  }

  async #pass(): Promise<undefined> {
    this.#passes += 1;
    const turn = this.#passes % FEED_DEFAULTS.lookEvery;
    const feeds = [...this.#feeds.values()].filter((_, n) => n % FEED_DEFAULTS.lookEvery === turn);
    await Promise.all(feeds.map((feed) => feed.refresh()));
  }
}

/** The output of one task, for all its followers in this process. */
export class OutputFeed {
  /** Called when there may be more. */
  readonly followers = new Set<() => void>();
  listening: Subscription | undefined;
  readonly #read: (from: number) => Promise<OutputPart>;
  readonly #keep: (length: number) => void;
  readonly #reading = new Map<number, Promise<OutputPage>>();
  #page: OutputPage | undefined;
  #total = 0;
  #looking: Promise<void> | undefined;
  #lookingAgain: Promise<void> | undefined;

  constructor(options: { read(from: number): Promise<OutputPart>; keep(length: number): void }) {
    this.#read = options.read;
    this.#keep = options.keep;
  }

  /** How many values are known to exist. */
  get total(): number {
    return this.#total;
  }

  /** Drops the cached page. */
  drop(): void {
    this.#page = undefined;
  }

  /** Values from a number on; at least one if there are any. @throws ProblemError store-unavailable */
  page(from: number): OutputPage | Promise<OutputPage> {
    const kept = this.#page;
    if (kept && kept.from === from) return kept;
    if (kept && kept.from < from && from < kept.from + kept.values.length) {
      return pageOf(from, kept.values.slice(from - kept.from));
    }
    const underway = this.#reading.get(from);
    if (underway !== undefined) return underway;
    const reading = this.#fetch(from).finally(() => this.#reading.delete(from));
    this.#reading.set(from, reading);
    return reading;
  }

  /**
   * Checks whether there is more. Values stored before the call are known once the promise resolves.
   * @throws ProblemError store-unavailable
   */
  refresh(): Promise<void> {
    if (this.#looking === undefined) {
      this.#looking = this.#look().finally(() => {
        this.#looking = undefined;
      });
      return this.#looking;
    }
    // A check that has already begun may have missed it.
    this.#lookingAgain ??= this.#looking
      .catch(() => undefined)
      .then(() => {
        this.#lookingAgain = undefined;
        return this.refresh();
      });
    return this.#lookingAgain;
  }

  async #look(): Promise<void> {
    const before = this.#total;
    await this.#fetch(before);
    if (this.#total !== before) for (const wake of [...this.followers]) wake();
  }

  async #fetch(from: number): Promise<OutputPage> {
    const { total, values } = await this.#read(from);
    // Fewer than before: another task has the id now, or the store has lost values.
    if (total > this.#total || total < from) this.#total = total;
    const page = pageOf(
      from,
      values.map(({ run, attempt, json }, n) => {
        return `{"seq":${from + n},"run":${run},"attempt":${attempt},"data":${json}}`;
      }),
    );
    if (values.length > 0) {
      this.#page = page;
      this.#keep(page.length);
    }
    return page;
  }
}

function pageOf(from: number, values: readonly string[]): OutputPage {
  let made: { key: string; text: string } | undefined;
  return {
    from,
    values,
    length: values.reduce((sum, value) => sum + value.length, 0),
    textOf(key, make) {
      if (made?.key !== key) made = { key, text: make(values, from) };
      return made.text;
    },
  };
}
