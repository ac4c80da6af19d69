import type { Metrics } from "../metrics.ts";
import type { Keys } from "../store/keys.ts";
import { encodeResult } from "../store/result.ts";
import type { CompleteVerdict, Completion, Lease, Scripts } from "../store/scripts/scripts.ts";
import type { Answer } from "../task.ts";
import { Batch } from "./batch.ts";
import { isLarge } from "./large-values/large-values.ts";
import type { QueueSettings } from "./settings.ts";

/** What ending an attempt needs. */
export interface EndingParts {
  readonly scripts: Scripts;
  /** On the connection of large values. */
  readonly large: Scripts;
  readonly keys: Keys;
  readonly metrics: Metrics;
}

/** Completes tasks. Completions of one turn of the event loop are sent together. */
export class Completions {
  readonly #parts: EndingParts;
  readonly #batch: Batch<Completion, CompleteVerdict>;
  /** Those with large results, in separate calls on the connection of large values. */
  readonly #large: Batch<Completion, CompleteVerdict>;

  constructor(parts: EndingParts) {
    this.#parts = parts;
    this.#batch = this.#batchOn(parts.scripts);
    this.#large = this.#batchOn(parts.large);
  }

  #batchOn(scripts: Scripts): Batch<Completion, CompleteVerdict> {
    const { keys, metrics } = this.#parts;
    return new Batch({
      sizeOf: (item) => item.result.length,
      send: (partition, items) => scripts.complete(keys.tag(partition), items),
      onVerdicts: (items, verdicts) => metrics.countEndings(items, verdicts),
    });
  }

  add(lease: Lease, result: Answer, settings: QueueSettings): Promise<CompleteVerdict> {
    const { queue, id, fence } = lease;
    const { resultTtlMs, tombstoneTtlMs } = settings;
    // Member by member, since spreading objects is much slower, and this runs for every task.
    const item = { queue, id, fence, result: encodeResult(result), keepMs: resultTtlMs, tombstoneMs: tombstoneTtlMs };
    const batch = isLarge(item.result) ? this.#large : this.#batch;
    return batch.add(this.#parts.keys.partitionOf(id), item);
  }

  /** Lets a call to a partition carry the completions that have not been sent, see {@link Batch.escort}. */
  escort<T extends { readonly verdicts: readonly CompleteVerdict[] }>(
    partition: number,
    call: (completions: readonly Completion[]) => Promise<T>,
  ): Promise<T> {
    return this.#batch.escort(partition, call);
  }
}
