import { SHARED } from "../constants.ts";
import type { TaskRecord } from "../task-record.ts";
import { type BatchVerb, counted, named, names, verbOnEach, word } from "./codec.ts";
import { inspected, LAYOUT } from "./inspect.ts";
import { list } from "./reply.ts";
import type { Retention } from "./settle.ts";
import type { QueueSnapshot } from "./snapshot.ts";

/** A task to cancel. */
export interface Cancellation extends Retention {
  readonly id: string;
  /** Unique to this call, see lua/answers.lua. */
  readonly call: string;
  /** Only cancel ("pending"), or only delete ("ended"). Default: both. */
  readonly only?: "pending" | "ended" | undefined;
  /** Not for a caller: the place that an item of `inspect` has for this. */
  readonly result?: boolean;
}

/** The verdict, see cancel.lua. */
export type CancelVerdict = "canceled" | "requested" | "deleted" | "already" | "left" | "unknown";

/** A verdict, and the task right after it; null if it is unknown. */
export interface CanceledTask {
  readonly verdict: CancelVerdict;
  readonly row: TaskRecord | null;
  readonly snapshot: QueueSnapshot | null;
  readonly nowMs: number;
}

/** The same places in both verbs, and at first those of an item of `inspect`. */
const ITEM = names<Cancellation>(...(["id", "result", "call", "keepMs", "tombstoneMs", "only"] as const));
const ANSWER = ["verdicts", "found"] as const;
const WORK = { workOf: () => SHARED.moveWork };

/** Cancels tasks; deletes the result of one that has ended. */
export const cancel = verbOnEach<Cancellation, CancelVerdict>({ item: ITEM, ...WORK });

/** The same, and reads the tasks, without results, at the same instant. */
export const cancelAndInspect: BatchVerb<Cancellation, CanceledTask> = {
  layout: { ...LAYOUT, item: ITEM, answered: ANSWER },
  weights: WORK,
  bytes: true,
  write: (items) => counted(ITEM, items),
  read: (reply) => {
    const { verdicts, found } = named(ANSWER, reply);
    const { nowMs, snapshots, tasks } = inspected(found ?? null);
    return list(verdicts).map((verdict, n) => {
      const row = tasks[n] ?? null;
      const snapshot = snapshots.find(({ queue }) => queue === row?.queue) ?? null;
      return { verdict: word<CancelVerdict>(verdict), row, snapshot, nowMs };
    });
  },
};
