import type { Keys } from "../../store/keys.ts";
import type { Scripts } from "../../store/library/scripts.ts";
import type { Lease } from "../../store/task/lease.ts";
import {
  OUTPUT_PAGE_BYTES,
  type OutputItem,
  type OutputPart,
  type OutputPlace,
  type WriteAnswer,
} from "../../store/task/output.ts";
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
