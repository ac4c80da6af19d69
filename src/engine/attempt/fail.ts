import { SHARED } from "../../store/constants.ts";
import { encodeResult } from "../../store/result.ts";
import type { FailItem, FailKind, FailVerdict } from "../../store/verbs/fail.ts";
import type { Lease } from "../../store/verbs/lease.ts";
import type { Scripts } from "../../store/verbs/scripts.ts";
import type { Answer } from "../../task.ts";
import { Batch } from "../calls/batch.ts";
import { isLarge } from "../large-values/large-values.ts";
import { type QueueSettings, retentionOf } from "../settings.ts";
import type { EndingParts } from "./complete.ts";

/** An attempt that did not succeed. */
export interface Failure {
  readonly kind: FailKind;
  /** Delay before the next attempt, if there is one. */
  readonly delayMs: number;
  /** For the list of latest errors, truncated here. */
  readonly error: string;
  /** The error code if this ends the task. */
  readonly code: string;
  /** The result if this ends the task: a problem document. */
  readonly result: Answer;
}

/** Longest error text that is stored. */
const ERROR_LENGTH = 500;

/** Fails attempts. Failures of one turn of the event loop are sent together. */
export class Failures {
  readonly #parts: EndingParts;
  readonly #batch: Batch<FailItem, FailVerdict>;
  /** Those with large problems, in separate calls on the connection of large values. */
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
      workOf: () => SHARED.moveWork,
      send: async (partition, items) => {
        const verdicts = await scripts.fail(keys.tag(partition), items);
        metrics.countEndings(items, verdicts);
        return verdicts;
      },
    });
  }

  add(lease: Lease, failure: Failure, settings: QueueSettings): Promise<FailVerdict> {
    const result = encodeResult(failure.result);
    const batch = isLarge(result) ? this.#large : this.#batch;
    const item = {
      ...lease,
      kind: failure.kind,
      attempts: settings.attempts,
      delayMs: failure.delayMs,
      ordered: settings.keyedWaiting === undefined,
      error: failure.error.slice(0, ERROR_LENGTH),
      code: failure.code,
      result,
      ...retentionOf(settings),
      // A dead task is kept longer than a result, so that it can be inspected and retried.
      deadMs: settings.deadTtlMs,
    };
    return batch.add(this.#parts.keys.partitionOfQueue(lease.queue), item);
  }
}
