import { encodeResult } from "../store/result.ts";
import type { FailItem, FailKind, FailVerdict, Lease, Scripts } from "../store/scripts/scripts.ts";
import type { Answer } from "../task.ts";
import { Batch } from "./batch.ts";
import type { EndingParts } from "./complete.ts";
import { isLarge } from "./large-values/large-values.ts";
import { DEAD_CAP, type QueueSettings, retentionOf } from "./settings.ts";

/** An attempt that did not succeed. */
export interface Failure {
  readonly kind: FailKind;
  /** Until the next attempt, where there is one. */
  readonly delayMs: number;
  /** For the record of last errors, bounded here. */
  readonly error: string;
  /** The catalogue's code when this is the end. */
  readonly code: string;
  /** The answer when this is the end: a problem document. */
  readonly result: Answer;
}

/** Longest text of an error that is kept. */
const ERROR_LENGTH = 500;

/** Fails attempts. Failures of one turn of the event loop travel together. */
export class Failures {
  readonly #parts: EndingParts;
  readonly #batch: Batch<FailItem, FailVerdict>;
  /** Those with large problems, in calls of their own on the connection of large values. */
  readonly #large: Batch<FailItem, FailVerdict>;

  constructor(parts: EndingParts) {
    this.#parts = parts;
    this.#batch = this.#batchOn(parts.scripts);
    this.#large = this.#batchOn(parts.large);
  }

  #batchOn(scripts: Scripts): Batch<FailItem, FailVerdict> {
    const { keys, metrics } = this.#parts;
    return new Batch({
      sizeOf: (item) => item.result.length,
      send: async (partition, items) => {
        const verdicts = await scripts.fail(keys.tag(partition), items, DEAD_CAP);
        metrics.countEndings(items, verdicts);
        return verdicts;
      },
    });
  }

  add(lease: Lease, failure: Failure, settings: QueueSettings): Promise<FailVerdict> {
    const result = encodeResult(failure.result);
    const batch = isLarge(result) ? this.#large : this.#batch;
    return batch.add(this.#parts.keys.partitionOf(lease.id), {
      ...lease,
      kind: failure.kind,
      attempts: settings.attempts,
      delayMs: failure.delayMs,
      error: failure.error.slice(0, ERROR_LENGTH),
      code: failure.code,
      result,
      ...retentionOf(settings),
      // What dies stays to be looked at and run again, longer than an answer would.
      deadMs: settings.deadTtlMs,
    });
  }
}
