import { SHARED } from "../constants.ts";
import { verbOnEach } from "./codec.ts";
import type { Retention } from "./settle.ts";

/** A task to cancel. */
export interface Cancellation extends Retention {
  readonly id: string;
  /** Unique to this call, see lua/answers.lua. */
  readonly call: string;
  /** Only cancel ("pending"), or only delete ("ended"). Default: both. */
  readonly only?: "pending" | "ended" | undefined;
}

/** The verdict, see cancel.lua. */
export type CancelVerdict = "canceled" | "requested" | "deleted" | "already" | "left" | "unknown";

/** Cancels tasks; deletes the result of one that has ended. */
export const cancel = verbOnEach<Cancellation, CancelVerdict>({
  item: ["id", "call", "keepMs", "tombstoneMs", "only"],
  workOf: () => SHARED.moveWork,
});
