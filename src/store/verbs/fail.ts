import { SHARED } from "../constants.ts";
import { type BatchVerb, counted, names, word } from "./codec.ts";
import type { Lease } from "./lease.ts";
import { list } from "./reply.ts";
import { DEAD_CAP, type Retention } from "./settle.ts";

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

const FAILURE = names<FailItem>(
  ...(["queue", "id", "fence", "kind", "attempts", "delayMs", "ordered", "error", "code"] as const),
  ...(["result", "keepMs", "tombstoneMs", "deadMs"] as const),
);

/** Ends failed attempts. */
export const fail: BatchVerb<FailItem, FailVerdict, [deadCap?: number]> = {
  layout: { args: ["deadCap"], item: FAILURE },
  ends: true,
  weights: { sizeOf: ({ result }) => result.length, workOf: () => SHARED.moveWork },
  write: (items, deadCap = DEAD_CAP) => [deadCap, ...counted(FAILURE, items)],
  read: (reply) => list(reply).map(word<FailVerdict>),
};
