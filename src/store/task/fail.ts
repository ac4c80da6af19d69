import { SHARED } from "../constants.ts";
import { jsonVerbOnEach } from "../library/verb.ts";
import type { Lease } from "./lease.ts";
import type { DeadCap, Retention } from "./record.ts";

/** Another attempt after the backoff, one at the time that the handler chose, or none. */
export type FailKind = "retry" | "later" | "give-up";

/** A failed attempt, with the result to store if it was the last. */
export interface FailItem extends Lease, Retention {
  readonly kind: FailKind;
  readonly attempts: number;
  readonly delayMs: number;
  /** Whether the tasks of a line key, of which one runs at a time, also end in order: a task holds its key until its next attempt. */
  readonly ordered: boolean;
  readonly error: string;
  readonly code: string;
  readonly result: string | Buffer;
  /** How long the task is kept if it is dead, ms. */
  readonly deadMs: number;
}

/** The verdict, see fail.lua. */
export type FailVerdict = "retrying" | "failed" | "dead" | "canceled" | "already" | "stale" | "unknown";

/** Ends failed attempts. */
export const fail = jsonVerbOnEach<FailItem, FailVerdict, DeadCap>(
  { sizeOf: ({ result }) => result.length, workOf: () => SHARED.moveWork },
  { raw: "result", ends: true, filled: ["keepMs", "tombstoneMs", "deadMs"] },
);
