import type { Call } from "./answers.ts";
import type { Script } from "./script.ts";
import type { Retention } from "./settle.ts";

/** A task to cancel. */
export interface Cancellation extends Call, Retention {
  readonly id: string;
  /** Leaves a task alone that has ended, or one that has not. Default: neither. */
  readonly only?: "pending" | "ended" | undefined;
}

/** The verdict, see cancel.lua. */
export type CancelVerdict = "canceled" | "requested" | "destroyed" | "already" | "left" | "unknown";

/** Cancels tasks; deletes the result of one that has ended. */
export const cancel =
  (script: Script) =>
  (tag: string, items: readonly Cancellation[]): Promise<CancelVerdict[]> =>
    script.verdicts(tag, items, (t) => [t.id, t.call, t.keepMs, t.tombstoneMs, t.only ?? ""]);
