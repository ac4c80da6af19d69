import { BATCH_LIMIT } from "../store/scripts.ts";

interface Entry<Item, Verdict> {
  readonly item: Item;
  resolve(verdict: Verdict): void;
  reject(error: unknown): void;
}

/** How a {@link Batch} sends what it has gathered. */
export interface BatchOptions<Item, Verdict> {
  /** Sends items of one partition; resolves with a verdict of each, in order. */
  send(partition: number, items: readonly Item[]): Promise<readonly Verdict[]>;
  /** Bytes that an item adds to a call; default 0. */
  sizeOf?(item: Item): number;
  /** The queue of an item, where each further queue makes a call longer; default: none does. */
  queueOf?(item: Item): string;
}

/** A call of more bytes than this is split: one script must not hold up Redis, nor one socket write the others. */
const BYTES_LIMIT = 4 * 1024 ** 2;
/** So is one for more queues than this: each is looked at for places and estimates. */
const QUEUES_LIMIT = 25;

/** So many items go at once where the store has nothing to do: it works on them while the rest of the turn is read. */
const EARLY = 32;

/** Gathers what arrives in one turn of the event loop and sends it as one call: a batch costs one round trip, not many. */
export class Batch<Item, Verdict> {
  readonly #options: BatchOptions<Item, Verdict>;
  readonly #gathered = new Map<number, Entry<Item, Verdict>[]>();
  /** Calls that have not been answered, by partition. */
  readonly #underway = new Map<number, number>();
  /** Calls of another kind that are underway and will be followed by one that takes along what is gathered, by partition. */
  readonly #escorted = new Map<number, number>();
  #scheduled = false;

  constructor(options: BatchOptions<Item, Verdict>) {
    this.#options = options;
  }

  /** Adds an item to the turn's batch; rejects with the error of the call that carried it. */
  add(partition: number, item: Item): Promise<Verdict> {
    return new Promise((resolve, reject) => {
      const entry = { item, resolve, reject };
      const entries = this.#gathered.get(partition);
      if (entries) entries.push(entry);
      else this.#gathered.set(partition, [entry]);
      if (this.#escorted.get(partition)) return;
      if (entries?.length === EARLY && !this.#underway.get(partition)) this.#flushPartition(partition, entries);
      this.#schedule();
    });
  }

  /** After the sockets of this turn have been read: what they brought travels together. */
  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => this.#flush());
  }

  #flush(): void {
    this.#scheduled = false;
    for (const [partition, entries] of this.#gathered) {
      if (!this.#escorted.get(partition)) this.#flushPartition(partition, entries);
    }
  }

  #flushPartition(partition: number, entries: readonly Entry<Item, Verdict>[]): void {
    this.#gathered.delete(partition);
    for (const chunk of this.#chunks(entries)) this.#send(partition, chunk);
  }

  *#chunks(entries: readonly Entry<Item, Verdict>[]): Iterable<readonly Entry<Item, Verdict>[]> {
    let chunk: Entry<Item, Verdict>[] = [];
    let bytes = 0;
    let queues = new Set<string | undefined>();
    for (const entry of entries) {
      const size = this.#options.sizeOf?.(entry.item) ?? 0;
      const queue = this.#options.queueOf?.(entry.item);
      const full = chunk.length === BATCH_LIMIT || (queues.size === QUEUES_LIMIT && !queues.has(queue));
      if (full || (chunk.length > 0 && bytes + size > BYTES_LIMIT)) {
        yield chunk;
        chunk = [];
        bytes = 0;
        queues = new Set();
      }
      chunk.push(entry);
      bytes += size;
      queues.add(queue);
    }
    yield chunk;
  }

  /**
   * Lets a call of another kind take along what has been gathered for a partition, as much as one call takes. What is gathered
   * while it is underway waits for its answer: whoever made it is likely to make another one then, which takes that along. It
   * costs no call of its own, and the store works on it while this process works on the answer.
   * @param call gets the items, none perhaps; resolves with their verdicts beside its own answer
   */
  async escort<T extends { readonly verdicts: readonly Verdict[] }>(
    partition: number,
    call: (items: readonly Item[]) => Promise<T>,
  ): Promise<T> {
    const [chunk = [], ...rest] = this.#chunks(this.#gathered.get(partition) ?? []);
    this.#gathered.set(partition, rest.flat());
    change(this.#escorted, partition, 1);
    const answer = call(itemsOf(chunk));
    if (chunk.length > 0) {
      const verdicts = answer.then((answered) => answered.verdicts);
      this.#await(partition, chunk, verdicts);
    }
    try {
      return await answer;
    } finally {
      change(this.#escorted, partition, -1);
      if (this.#gathered.get(partition)?.length) this.#schedule();
    }
  }

  #send(partition: number, chunk: readonly Entry<Item, Verdict>[]): void {
    if (chunk.length > 0) this.#await(partition, chunk, this.#options.send(partition, itemsOf(chunk)));
  }

  #await(partition: number, chunk: readonly Entry<Item, Verdict>[], verdicts: Promise<readonly Verdict[]>): void {
    change(this.#underway, partition, 1);
    const answered = () => change(this.#underway, partition, -1);
    verdicts.then(
      (all) => {
        answered();
        for (const [i, entry] of chunk.entries()) {
          const verdict = all[i];
          if (verdict === undefined) entry.reject(new Error("the store answered fewer verdicts than items"));
          else entry.resolve(verdict);
        }
      },
      (error: unknown) => {
        answered();
        for (const entry of chunk) entry.reject(error);
      },
    );
  }
}

function itemsOf<Item, Verdict>(chunk: readonly Entry<Item, Verdict>[]): Item[] {
  return chunk.map((entry) => entry.item);
}

function change(counts: Map<number, number>, partition: number, by: number): void {
  counts.set(partition, (counts.get(partition) ?? 0) + by);
}
