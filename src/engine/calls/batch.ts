import type { Weights } from "../../store/library/verb.ts";
import { BATCH_LIMIT } from "../../store/library/verb.ts";

interface PendingCall<Item, Verdict> {
  readonly item: Item;
  resolve(verdict: Verdict): void;
  reject(error: unknown): void;
}

/** Entries whose verdicts are delivered together. */
interface Group<Verdict> {
  readonly ends: PromiseSettledResult<Verdict>[];
  /** How many entries have no verdict yet. */
  left: number;
  resolve(ends: PromiseSettledResult<Verdict>[]): void;
}

/** An entry of a group. A class, since there are many: closures and a promise for each would cost more than the rest of it. */
class GroupCall<Item, Verdict> implements PendingCall<Item, Verdict> {
  readonly item: Item;
  readonly #group: Group<Verdict>;
  readonly #index: number;

  constructor(item: Item, group: Group<Verdict>, index: number) {
    this.item = item;
    this.#group = group;
    this.#index = index;
  }

  resolve(value: Verdict): void {
    this.#end({ status: "fulfilled", value });
  }

  reject(reason: unknown): void {
    this.#end({ status: "rejected", reason });
  }

  #end(end: PromiseSettledResult<Verdict>): void {
    const group = this.#group;
    group.ends[this.#index] = end;
    group.left -= 1;
    if (group.left === 0) group.resolve(group.ends);
  }
}

/** The state of a {@link Batch} for one partition. */
interface Part<Item, Verdict> {
  gathered: PendingCall<Item, Verdict>[];
  /** Calls of another kind in flight; the call after them carries the gathered items. */
  carriers: number;
}

/** How a {@link Batch} sends its items. */
export interface BatchOptions<Item, Verdict> extends Weights<Item> {
  /** Sends items of one partition; resolves with their verdicts, in order. */
  send(partition: number, items: readonly Item[]): Promise<readonly Verdict[]>;
}

/** Larger calls are split, so that a script does not block Redis, nor a write the socket. */
const BYTES_LIMIT = 4 * 1024 ** 2;
/** Calls for more queues are split too, since each queue is read for places and estimates. */
const QUEUES_LIMIT = 25;

/** This many items are sent at once if the store is idle: it works on them while the rest of the turn is read. */
const EARLY = 32;

/** Gathers the items of one turn of the event loop and sends them in one call. */
export class Batch<Item, Verdict> {
  readonly #options: BatchOptions<Item, Verdict>;
  readonly #parts: Part<Item, Verdict>[] = [];
  #scheduled = false;
  /** Calls without a reply yet, to any partition. */
  #underway = 0;

  constructor(options: BatchOptions<Item, Verdict>) {
    this.#options = options;
  }

  /** Adds an item to the batch of this turn; rejects with the error of its call. */
  add(partition: number, item: Item): Promise<Verdict> {
    return new Promise((resolve, reject) => {
      const part = this.#part(partition);
      part.gathered.push({ item, resolve, reject });
      this.#added(partition, part);
    });
  }

  /** Adds several items; never rejects. */
  addAll(partition: number, items: readonly Item[]): Promise<readonly PromiseSettledResult<Verdict>[]> {
    if (items.length === 0) return Promise.resolve([]);
    return new Promise((resolve) => {
      const part = this.#part(partition);
      const group: Group<Verdict> = { ends: new Array(items.length), left: items.length, resolve };
      for (const [index, item] of items.entries()) part.gathered.push(new GroupCall(item, group, index));
      this.#added(partition, part);
    });
  }

  #added(partition: number, part: Part<Item, Verdict>): void {
    if (part.carriers > 0) return;
    if (part.gathered.length >= EARLY && this.#underway === 0) this.#flush(partition, part);
    this.#schedule();
  }

  #part(partition: number): Part<Item, Verdict> {
    while (this.#parts.length <= partition) this.#parts.push({ gathered: [], carriers: 0 });
    return this.#parts[partition] as Part<Item, Verdict>;
  }

  /** Sends after all sockets of this turn have been read, so that their items go together. */
  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      for (const [partition, part] of this.#parts.entries()) if (part.carriers === 0) this.#flush(partition, part);
    });
  }

  #flush(partition: number, part: Part<Item, Verdict>): void {
    const entries = part.gathered;
    part.gathered = [];
    for (let from = 0; from < entries.length; ) {
      const chunk = entries.slice(from, this.#endOfCall(entries, from));
      from += chunk.length;
      this.#underway += 1;
      try {
        this.#options.send(partition, itemsOf(chunk)).then(
          (verdicts) => this.#answered(chunk, verdicts),
          (error: unknown) => this.#failed(chunk, error),
        );
      } catch (error) {
        this.#failed(chunk, error);
      }
    }
  }

  /** The end of the entries that fit into one call from an index on; at least one entry does. */
  #endOfCall(entries: readonly PendingCall<Item, Verdict>[], from: number): number {
    const { sizeOf, workOf, queueOf } = this.#options;
    const queues = queueOf && new Set<string>();
    const max = Math.min(entries.length, from + BATCH_LIMIT);
    let [bytes, work] = [0, 0];
    for (let at = from; at < max; at += 1) {
      const { item } = entries[at] as PendingCall<Item, Verdict>;
      bytes += sizeOf?.(item) ?? 0;
      work += workOf?.(item) ?? 0;
      queues?.add(queueOf?.(item) ?? "");
      const full = bytes > BYTES_LIMIT || work > BATCH_LIMIT || (queues !== undefined && queues.size > QUEUES_LIMIT);
      if (full && at > from) return at;
    }
    return max;
  }

  /**
   * Sends the gathered items of a partition with a call of another kind, as many as fit in one call. Items gathered while it is in flight
   * wait for its reply, since the caller's next call will probably carry them. They then cost no call of their own, and the store processes
   * them while this process handles the reply.
   * @param call gets the items, perhaps none; resolves with their verdicts and its own reply
   * @param onReply called with both before anyone learns of a verdict
   */
  sendWith<T extends { readonly verdicts: readonly Verdict[] }>(
    partition: number,
    call: (items: readonly Item[]) => Promise<T>,
    onReply: (items: readonly Item[], reply: T) => void,
  ): Promise<T> {
    const part = this.#part(partition);
    const end = this.#endOfCall(part.gathered, 0);
    const chunk = end === part.gathered.length ? part.gathered : part.gathered.slice(0, end);
    part.gathered = part.gathered.slice(end);
    const over = () => {
      part.carriers -= 1;
      if (part.gathered.length > 0) this.#schedule();
    };
    part.carriers += 1;
    this.#underway += 1;
    const items = itemsOf(chunk);
    // One promise, with and without items: replies must reach their callers in the order in which they came.
    return call(items).then(
      (answer) => {
        over();
        onReply(items, answer);
        this.#answered(chunk, answer.verdicts);
        return answer;
      },
      (error: unknown) => {
        over();
        this.#failed(chunk, error);
        throw error;
      },
    );
  }

  #answered(chunk: readonly PendingCall<Item, Verdict>[], verdicts: readonly Verdict[]): void {
    this.#underway -= 1;
    for (const [i, entry] of chunk.entries()) {
      const verdict = verdicts[i];
      if (verdict === undefined) entry.reject(new Error("the store's answer has fewer verdicts than items"));
      else entry.resolve(verdict);
    }
  }

  #failed(chunk: readonly PendingCall<Item, Verdict>[], error: unknown): void {
    this.#underway -= 1;
    for (const entry of chunk) entry.reject(error);
  }
}

function itemsOf<Item, Verdict>(chunk: readonly PendingCall<Item, Verdict>[]): Item[] {
  return chunk.map((entry) => entry.item);
}
