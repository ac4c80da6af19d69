import type { Lease } from "./lease.ts";
import type { Script } from "./script.ts";
import type { Retention } from "./settle.ts";

/** Another attempt after the backoff, one at a time the handler named, or none. */
export type FailKind = "retry" | "later" | "give-up";

/** An attempt that has failed, with the answer that is stored when it was the last. */
export interface FailItem extends Lease, Retention {
  readonly kind: FailKind;
  readonly attempts: number;
  readonly delayMs: number;
  readonly error: string;
  readonly code: string;
  readonly result: string | Buffer;
  /** How long it stays when it dies, ms. */
  readonly deadMs: number;
}

/** What became of it: see fail.lua. */
export type FailVerdict = "retrying" | "failed" | "dead" | "canceled" | "already" | "stale" | "unknown";

/** Ends attempts that did not succeed. */
export const fail =
  (script: Script) =>
  (tag: string, items: readonly FailItem[], deadCap: number): Promise<FailVerdict[]> => {
    const write = (t: FailItem) => [
      ...[t.queue, t.id, t.fence, t.kind, t.attempts, t.delayMs, t.error, t.code],
      ...[t.result, t.keepMs, t.tombstoneMs, t.deadMs],
    ];
    return script.verdicts(tag, items, write, deadCap);
  };
