import { BATCH_LIMIT } from "../store/scripts/scripts.ts";

interface Entry<Item, Verdict> {
  readonly item: Item;
  resolve(verdict: Verdict): void;
  reject(error: unknown): void;
}

/** What a {@link Batch} has of one partition. */
interface Part<Item, Verdict> {
  gathered: Entry<Item, Verdict>[];
  /** Calls that have not been answered. */
  underway: number;
  /** Calls of another kind that are underway and will be followed by one that takes along what is gathered. */
  escorted: number;
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
  readonly #parts: Part<Item, Verdict>[] = [];
  #scheduled = false;

  constructor(options: BatchOptions<Item, Verdict>) {
    this.#options = options;
  }

  /** Adds an item to the turn's batch; rejects with the error of the call that carried it. */
  add(partition: number, item: Item): Promise<Verdict> {
    return new Promise((resolve, reject) => {
      const part = this.#part(partition);
      part.gathered.push({ item, resolve, reject });
      if (part.escorted > 0) return;
      if (part.gathered.length >= EARLY && part.underway === 0) this.#flushPart(partition, part);
      this.#schedule();
    });
  }

  #part(partition: number): Part<Item, Verdict> {
    while (this.#parts.length <= partition) this.#parts.push({ gathered: [], underway: 0, escorted: 0 });
    return this.#parts[partition] as Part<Item, Verdict>;
  }

  /** After the sockets of this turn have been read: what they brought travels together. */
  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => this.#flush());
  }

  #flush(): void {
    this.#scheduled = false;
    for (const [partition, part] of this.#parts.entries()) {
      if (part.escorted === 0 && part.gathered.length > 0) this.#flushPart(partition, part);
    }
  }

  #flushPart(partition: number, part: Part<Item, Verdict>): void {
    const entries = part.gathered;
    part.gathered = [];
    for (const chunk of this.#chunks(entries)) this.#await(part, chunk, this.#send(partition, itemsOf(chunk)));
  }

  /** In a promise even where it throws at once: nobody stands behind a turn of the event loop to catch it. */
  async #send(partition: number, items: readonly Item[]): Promise<readonly Verdict[]> {
    return await this.#options.send(partition, items);
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
    const part = this.#part(partition);
    const [chunk = [], ...rest] = this.#chunks(part.gathered);
    part.gathered = rest.flat();
    part.escorted += 1;
    const answer = call(itemsOf(chunk));
    if (chunk.length > 0) {
      const verdicts = answer.then((answered) => answered.verdicts);
      this.#await(part, chunk, verdicts);
    }
    try {
      return await answer;
    } finally {
      part.escorted -= 1;
      if (part.gathered.length > 0) this.#schedule();
    }
  }

  #await(
    part: Part<Item, Verdict>,
    chunk: readonly Entry<Item, Verdict>[],
    verdicts: Promise<readonly Verdict[]>,
  ): void {
    part.underway += 1;
    verdicts.then(
      (all) => {
        part.underway -= 1;
        for (const [i, entry] of chunk.entries()) {
          const verdict = all[i];
          if (verdict === undefined) entry.reject(new Error("the store's answer has fewer verdicts than items"));
          else entry.resolve(verdict);
        }
      },
      (error: unknown) => {
        part.underway -= 1;
        for (const entry of chunk) entry.reject(error);
      },
    );
  }
}

function itemsOf<Item, Verdict>(chunk: readonly Entry<Item, Verdict>[]): Item[] {
  return chunk.map((entry) => entry.item);
}
