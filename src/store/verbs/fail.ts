import type { Lease } from "./lease.ts";
import type { Script } from "./script.ts";
import type { Retention } from "./settle.ts";

/** Another attempt after the backoff, one at the time that the handler chose, or none. */
export type FailKind = "retry" | "later" | "give-up";

/** A failed attempt, with the result to store if it was the last. */
export interface FailItem extends Lease, Retention {
  readonly kind: FailKind;
  readonly attempts: number;
  readonly delayMs: number;
  readonly error: string;
  readonly code: string;
  readonly result: string | Buffer;
  /** How long the task is kept if it is dead, ms. */
  readonly deadMs: number;
}

/** The verdict, see fail.lua. */
export type FailVerdict = "retrying" | "failed" | "dead" | "canceled" | "already" | "stale" | "unknown";

/** Ends failed attempts. */
export const fail =
  (script: Script) =>
  (tag: string, items: readonly FailItem[], deadCap: number): Promise<FailVerdict[]> => {
    const write = (t: FailItem) => [
      ...[t.queue, t.id, t.fence, t.kind, t.attempts, t.delayMs, t.error, t.code],
      ...[t.result, t.keepMs, t.tombstoneMs, t.deadMs],
    ];
    return script.verdicts(tag, items, write, deadCap);
  };
