import { SHARED } from "../constants.ts";
import { jsonVerbOnEach } from "../library/verb.ts";
import type { QueueSnapshot } from "../line/snapshot.ts";
import { inspected } from "./inspect.ts";
import type { TaskRecord } from "./record.ts";
import type { Retention } from "./settle.ts";

/** A task to cancel. */
export interface Cancellation extends Retention {
  readonly id: string;
  /** Unique to this call, see library/call.lua. */
  readonly call: string;
  /** Only cancel ("pending"), or only delete ("ended"). Default: both. */
  readonly only?: "pending" | "ended" | undefined;
  /** Only if no other process than this is told of its changes. */
  readonly heardBy?: string | undefined;
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

const WORK = { workOf: () => SHARED.moveWork };
const FILLED = ["call", "keepMs", "tombstoneMs"] as const;

/** Cancels tasks; deletes the result of one that has ended. */
export const cancel = jsonVerbOnEach<Cancellation, CancelVerdict>(WORK, { filled: FILLED });

/** The same, and reads the tasks, without results, at the same instant. */
export const cancelAndInspect = jsonVerbOnEach<Cancellation, CanceledTask>(WORK, {
  filled: FILLED,
  read: (verdicts: readonly CancelVerdict[], { beside }) => {
    const { nowMs, snapshots, tasks } = inspected(beside ?? null);
    return verdicts.map((verdict, n) => {
      const row = tasks[n] ?? null;
      const snapshot = snapshots.find(({ queue }) => queue === row?.queue) ?? null;
      return { verdict, row, snapshot, nowMs };
    });
  },
});
