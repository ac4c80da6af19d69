import type { Call } from "./answers.ts";
import { each, names, verb } from "./codec.ts";
import type { Retention } from "./settle.ts";

/** A task to cancel. */
export interface Cancellation extends Call, Retention {
  readonly id: string;
  /** Only cancel ("pending"), or only delete ("ended"). Default: both. */
  readonly only?: "pending" | "ended" | undefined;
}

/** The verdict, see cancel.lua. */
export type CancelVerdict = "canceled" | "requested" | "deleted" | "already" | "left" | "unknown";

const CANCELLATION = names<Cancellation>("id", "call", "keepMs", "tombstoneMs", "only");

/** Cancels tasks; deletes the result of one that has ended. */
export const cancel = verb(
  { item: CANCELLATION },
  (script) =>
    (tag: string, items: readonly Cancellation[]): Promise<CancelVerdict[]> =>
      each(script, tag, CANCELLATION, items),
);
