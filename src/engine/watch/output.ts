import type { Keys } from "../../store/keys.ts";
import type { Scripts } from "../../store/library/scripts.ts";
import {
  OUTPUT_PAGE_BYTES,
  type OutputItem,
  type OutputPart,
  type OutputPlace,
  type WriteAnswer,
} from "../../store/task/attempt.ts";
import type { Lease } from "../../store/task/lease.ts";
import { Batch } from "../calls/batch.ts";
import { ByteBudget } from "../calls/byte-budget.ts";
import { newCall } from "../calls/calls.ts";

/** Maximum bytes of pages that are read at the same time, and how long a read waits for its turn. */
const READ_BYTES = 8 * 1024 ** 2;
const READ_PATIENCE_MS = 10_000;

/** What handlers write while they run: kept in order until the result expires. */
export class Outputs {
  readonly #keys: Keys;
  readonly #budget = new ByteBudget(READ_BYTES);
  readonly #writes: Batch<OutputItem, WriteAnswer>;
  readonly #reads: Batch<OutputPlace, OutputPart>;

  constructor(scripts: Scripts, keys: Keys) {
    this.#keys = keys;
    this.#writes = new Batch({
      send: (partition, items) => scripts.write(keys.tag(partition), items),
      sizeOf: ({ values }) => values.reduce((sum, value) => sum + value.length, 0),
    });
    this.#reads = new Batch({
      send: (partition, items) => scripts.output(keys.tag(partition), items),
      sizeOf: () => OUTPUT_PAGE_BYTES,
    });
  }

  /**
   * Appends values to the output of a running task. The calls of one turn of the event loop travel together.
   * @param values each as JSON
   * @param options `maxBytes`: of all values of the task; `all`: store all of these or none, else as many as fit; `call`: the same in each
   * try of one call, so that it is stored once
   * @returns how many were stored; "stale" if the task no longer belongs to the worker
   * @throws ProblemError store-unavailable, store-full
   */
  write(
    { queue, id, fence }: Lease,
    values: readonly string[],
    options: { readonly maxBytes: number; readonly all?: boolean; readonly call?: string },
  ): Promise<WriteAnswer> {
    const { maxBytes, all = false, call = newCall() } = options;
    const item = { id, fence, call, maxBytes, all, values };
    return this.#writes.add(this.#keys.partitionOfQueue(queue), item);
  }

  /** A page of the output of a task, from a value on; the reads of one turn travel together. @throws ProblemError store-unavailable */
  read({ id, queue }: Pick<Lease, "id" | "queue">, from: number): Promise<OutputPart> {
    const read = () => this.#reads.add(this.#keys.partitionOfQueue(queue), { id, from });
    // Limits the pages in transit from the store, however many followers there are.
    return this.#budget.spend(OUTPUT_PAGE_BYTES, READ_PATIENCE_MS, read);
  }
}

/** A task whose output is read. */
type OutputTask = Parameters<Outputs["read"]>[0];

/** Consecutive values of an output. */
export interface OutputPage {
  /** The number of the first one. */
  readonly from: number;
  /** Each as JSON: `{ "seq", "run", "attempt", "data" }`. */
  readonly values: readonly string[];
  /** Characters of all of them. */
  readonly length: number;
  /** How many values there were when it was read. */
  readonly total: number;
  /** A text made from all values, cached for the next reader with the same key. */
  textOf(key: string, make: (values: readonly string[], from: number) => string): string;
}

/** Characters of the pages cached for readers who need the same, over all tasks. */
const MAX_KEPT = 16 * 1024 ** 2;

/**
 * The outputs of tasks that are read in this process: what several readers of a task want is read once, and nothing is buffered for a slow
 * one. That there may be more they learn by watching the task.
 */
export class OutputFeeds {
  readonly #outputs: Pick<Outputs, "read">;
  readonly #feeds = new Map<string, OutputFeed>();
  /** Feeds with a cached page, in the order in which they read it, with its length. */
  readonly #kept = new Map<OutputFeed, number>();
  #keptLength = 0;

  constructor(outputs: Pick<Outputs, "read">) {
    this.#outputs = outputs;
  }

  /** How many outputs are read. */
  get size(): number {
    return this.#feeds.size;
  }

  /** The output of a task, until the reader leaves it. */
  open(task: OutputTask): OutputFeed {
    const feed = this.#feeds.get(task.id) ?? new OutputFeed(task, this.#outputs, this);
    this.#feeds.set(task.id, feed);
    feed.readers += 1;
    return feed;
  }

  /** Nobody reads an output any more. */
  close(id: string, feed: OutputFeed): void {
    this.#feeds.delete(id);
    this.keep(feed, 0);
  }

  /** Notes that a feed caches a page of this length, and drops the pages that were read longest ago. */
  keep(feed: OutputFeed, length: number): void {
    this.#keptLength += length - (this.#kept.get(feed) ?? 0);
    this.#kept.delete(feed);
    if (length > 0) this.#kept.set(feed, length);
    for (const [oldest, its] of this.#kept) {
      if (this.#keptLength <= MAX_KEPT) return;
      this.#kept.delete(oldest);
      this.#keptLength -= its;
      oldest.drop();
    }
  }
}

/** The output of one task, for all its readers in this process. */
export class OutputFeed {
  readers = 0;
  readonly #task: OutputTask;
  readonly #outputs: Pick<Outputs, "read">;
  readonly #feeds: OutputFeeds;
  readonly #reading = new Map<string, Promise<OutputPage>>();
  #page: OutputPage | undefined;
  /** How many values there were, as of this news. */
  #total = 0;
  #asOf = -1;

  constructor(task: OutputTask, outputs: Pick<Outputs, "read">, feeds: OutputFeeds) {
    this.#task = task;
    this.#outputs = outputs;
    this.#feeds = feeds;
  }

  /** A reader leaves. */
  leave(): void {
    this.readers -= 1;
    if (this.readers === 0) this.#feeds.close(this.#task.id, this);
  }

  /** Drops the cached page. */
  drop(): void {
    this.#page = undefined;
  }

  /**
   * Values from a number on; at least one if there are any as of some news ({@link Watch.outputs}), or by now if none are given.
   * @throws ProblemError store-unavailable
   */
  page(from: number, news?: number): OutputPage | Promise<OutputPage> {
    const kept = this.#page;
    if (kept?.from === from) return kept;
    if (kept && kept.from < from && from < kept.from + kept.values.length)
      return pageOf(from, kept.values.slice(from - kept.from), kept.total);
    if (news !== undefined && news <= this.#asOf && from >= this.#total) return pageOf(from, [], this.#total);
    return this.read(from, news);
  }

  /** The same from the store. A read that has begun before this news may have missed it, so it is not shared. */
  read(from: number, news?: number): Promise<OutputPage> {
    const key = `${from} ${news}`;
    const reading = this.#reading.get(key) ?? this.#read(from, news).finally(() => this.#reading.delete(key));
    this.#reading.set(key, reading);
    return reading;
  }

  async #read(from: number, news: number | undefined): Promise<OutputPage> {
    const { total, values } = await this.#outputs.read(this.#task, from);
    if (news !== undefined && news >= this.#asOf) [this.#asOf, this.#total] = [news, total];
    const texts = values.map(
      ({ run, attempt, json }, n) => `{"seq":${from + n},"run":${run},"attempt":${attempt},"data":${json}}`,
    );
    const page = pageOf(from, texts, total);
    if (values.length > 0 && this.readers > 0) {
      this.#page = page;
      this.#feeds.keep(this, page.length);
    }
    return page;
  }
}

function pageOf(from: number, values: readonly string[], total: number): OutputPage {
  let made: { key: string; text: string } | undefined;
  return {
    from,
    values,
    total,
    length: values.reduce((sum, value) => sum + value.length, 0),
    textOf(key, make) {
      if (made?.key !== key) made = { key, text: make(values, from) };
      return made.text;
    },
  };
}
