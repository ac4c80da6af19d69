/**
 * Words of counters by queue. The lists have those that alerts count (deploy/prometheus), which are shown at 0 from the start: each word is a
 * series for every queue.
 */

/** What can become of a submission: the verdicts of the store, or the codes of its errors; not-durable in addition to a verdict. */
export const SUBMISSION_VERDICTS = [
  "new",
  "full",
  "webhooks-full",
  "not-durable",
  "store-unavailable",
  "store-full",
  "internal",
] as const;
export type SubmissionVerdict =
  | (typeof SUBMISSION_VERDICTS)[number]
  | ("replay" | "conflict" | "elsewhere" | "foreign" | "too-many" | "long" | "late" | "far" | "closed" | "dry");

/** The verdicts of the store on ended attempts. */
export const ATTEMPT_ENDINGS = ["done", "failed", "retrying", "dead"] as const;
export type AttemptEnding =
  | (typeof ATTEMPT_ENDINGS)[number]
  | ("canceled" | "released" | "stale" | "unknown" | "already");

/** How handlers end, and why they are asked to. */
export const ATTEMPT_ENDS = [
  "result",
  "error",
  "give-up",
  "later",
  "permanent",
  "overdue",
  "lost",
  "timeout",
  "canceled",
  "deadline",
  "abandoned",
  "lease-lost",
  "shutdown",
] as const;
export type AttemptEnd = (typeof ATTEMPT_ENDS)[number];

/** What becomes of tasks that have lost their workers. */
export const FATES = ["waiting", "dead", "canceled"] as const;
export type Fate = (typeof FATES)[number] | "released";

/** When tasks start, compared with their estimates. */
export const STARTS = ["within", "sooner", "later"] as const;

/** The classes of the status of an answer. */
export const STATUS_CLASSES = ["2xx", "3xx", "4xx", "5xx"] as const;
