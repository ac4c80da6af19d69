import { encodeResult } from "../../store/result.ts";
import type { FailItem, FailKind } from "../../store/verbs/fail.ts";
import type { Lease } from "../../store/verbs/lease.ts";
import type { Answer } from "../../task.ts";
import { type QueueSettings, retentionOf } from "../settings.ts";

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

/** A failure as it is sent to the store. */
export function failItem(lease: Lease, failure: Failure, settings: QueueSettings): FailItem {
  return {
    ...lease,
    kind: failure.kind,
    attempts: settings.attempts,
    delayMs: failure.delayMs,
    ordered: settings.keyedWaiting === undefined,
    error: failure.error.slice(0, ERROR_LENGTH),
    code: failure.code,
    result: encodeResult(failure.result),
    ...retentionOf(settings),
    // A dead task is kept longer than a result, so that it can be inspected and retried.
    deadMs: settings.deadTtlMs,
  };
}
