/** What can become of a submission: the verdicts of the store, or the codes of its errors; not-durable in addition to a verdict. */
export const SUBMISSION_VERDICTS = [
  "new",
  "replay",
  "conflict",
  "elsewhere",
  "foreign",
  "full",
  "webhooks-full",
  "too-many",
  "long",
  "late",
  "far",
  "closed",
  "dry",
  "not-durable",
  "store-unavailable",
  "store-full",
  "internal",
] as const;

/** The verdicts of the store on ended attempts. */
export const ATTEMPT_ENDINGS = [
  "done",
  "failed",
  "retrying",
  "dead",
  "canceled",
  "released",
  "stale",
  "unknown",
  "already",
] as const;
export type AttemptEnding = (typeof ATTEMPT_ENDINGS)[number];

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
export const FATES = ["waiting", "released", "dead", "canceled"] as const;

/** When tasks start, compared with their estimates. */
export const STARTS = ["within", "sooner", "later"] as const;

/** The classes of the status of an answer. */
export const STATUS_CLASSES = ["2xx", "3xx", "4xx", "5xx"] as const;
