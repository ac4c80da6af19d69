import { SHARED } from "../constants.ts";
import { BATCH_LIMIT, jsonVerb, jsonVerbOnEach } from "../library/verb.ts";
import type { QueueSnapshot } from "../line/snapshot.ts";
import { inspected } from "./inspect.ts";
import type { Retention, TaskRecord } from "./record.ts";

/** A task to cancel. */
export interface Cancellation extends Retention {
  readonly id: string;
  /** Unique to this call, see library/call.lua. */
  readonly call: string;
  /** Only cancel ("pending"), or only delete ("ended"). Default: both. */
  readonly only?: "pending" | "ended" | undefined;
  /** Only if no other process than this is told of its changes. */
  readonly onlyListener?: string | undefined;
}

/** The verdict, see actions.lua. */
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

/** Where a task that waits is moved. Exactly one of the four. */
export interface Move {
  readonly priority?: number | undefined;
  /** The start or the end of the line. */
  readonly place?: "first" | "last" | undefined;
  /** When it joins the line, from now. */
  readonly delayMs?: number | undefined;
  /** The same as a time by the clock of Redis. */
  readonly notBeforeMs?: number | undefined;
}

interface MoveCall extends Move {
  readonly call: string;
  readonly id: string;
}

/** The verdict, see actions.lua. */
export type MoveVerdict = "moved" | "not-waiting" | "ordered" | "late" | "far" | "unknown";

/** Moves a task that waits. */
export const move = jsonVerb<MoveCall, MoveVerdict>({ filled: ["call"] });

export interface Retry {
  readonly id: string;
  readonly call: string;
}

/** The verdict on the retry of a dead task, see actions.lua. */
export type RetryVerdict = "waiting" | "not-dead" | "undone" | "unknown";

interface DeadDeletion {
  readonly call: string;
  readonly queue: string;
  readonly limit: number;
}

/** Retries dead tasks. */
export const retry = jsonVerbOnEach<Retry, RetryVerdict>({ workOf: () => SHARED.moveWork }, { filled: ["call"] });

/** Deletes dead tasks, the oldest first; returns how many. */
export const deleteDead = jsonVerb<DeadDeletion, number>({
  sent: (of) => ({ ...of, limit: Math.min(of.limit, BATCH_LIMIT) }),
});
