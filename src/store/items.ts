import type { State } from "../task.ts";

/** A task as submit.lua takes it. */
export interface SubmitItem {
  readonly id: string;
  readonly queue: string;
  /** 0 most urgent … 7. */
  readonly priority: number;
  readonly delayMs: number;
  readonly input: string | Buffer;
  /** 16 bytes as 32 hex digits for an input that is not stored in the hash, else "". */
  readonly digest: string;
  /** "" for application/json. */
  readonly mediaType: string;
  /** JSON, "" for none. */
  readonly query: string;
  readonly caller: string;
  /** Most tasks waiting and scheduled. */
  readonly limit: number;
  readonly maxIndex: number | null;
  readonly dryRun: boolean;
  /** URL that is told of the task's end, "" for none. */
  readonly webhook: string;
  /** What the task does can be undone. */
  readonly undo: boolean;
}
/** What became of it: see submit.lua. */
export type SubmitVerdict = "new" | "replay" | "conflict" | "elsewhere" | "foreign" | "full" | "long" | "dry";
/** What submit.lua answers of a task. */
export interface Submitted {
  readonly verdict: SubmitVerdict;
  readonly state: State | null;
  readonly index: number | null;
  /** The place in line as a score, for counting in other partitions. */
  readonly score: string;
}

/** A task that a worker has taken. */
export interface Reserved {
  readonly id: string;
  readonly fence: string;
  readonly attempt: number;
  readonly lost: number;
  readonly createdMs: number;
  readonly input: Buffer;
  readonly mediaType: string;
  readonly query: string;
  readonly caller: string;
}

/** A lease that a worker holds: what every verb of a running task must show. */
export interface Lease {
  readonly queue: string;
  readonly id: string;
  readonly fence: string;
}
/** How long what is finished stays, ms. */
export interface Retention {
  readonly keepMs: number;
  readonly tombstoneMs: number;
}
/** A task that has succeeded, with its result as it is stored. */
export interface Completion extends Lease, Retention {
  readonly result: string | Buffer;
}
export type CompleteVerdict = "done" | "canceled" | "already" | "stale" | "unknown";
