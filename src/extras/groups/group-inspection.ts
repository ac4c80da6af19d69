import type { QueueSnapshot } from "../../store/line/snapshot.ts";
import type { Group } from "../../wire/group.ts";
import type { Eta } from "../../wire/task.ts";
import { estimateEnd } from "./estimate-end.ts";
import type { GroupRow, MemberCounts } from "./verbs.ts";

/** A snapshot of a group. Times are ms of Redis's clock; null if not reached yet. */
export interface GroupInspection {
  readonly id: string;
  readonly queue: string;
  readonly caller: string | null;
  readonly state: Group["state"];
  /** When the snapshot was taken. */
  readonly nowMs: number;
  readonly total: number;
  readonly counts: MemberCounts;
  /** Place of the last member in line; null if none waits. */
  readonly index: number | null;
  /** When the last member will have ended. */
  readonly eta: Eta | null;
  readonly percent: number;
  readonly cancelRequested: boolean;
  /** After how long without a look it is canceled, and when that is unless somebody looks. */
  readonly presenceMs: number | null;
  readonly presentUntilMs: number | null;
  readonly createdMs: number;
  readonly finishedMs: number | null;
  /** When the last result of its members expires; null until it has ended. */
  readonly expiresMs: number | null;
  readonly expired: boolean;
}

/** What callers see of a row. */
export function viewOf(id: string, row: GroupRow, snapshot: QueueSnapshot, nowMs: number): GroupInspection {
  const { counts, index, finishedMs, closedMs, canceledMs } = row;
  const ended = counts.succeeded + counts.failed + counts.canceled;
  const total = ended + counts.waiting + counts.scheduled + counts.retrying + counts.running;
  const cancelRequested = canceledMs !== null;
  const over = cancelRequested ? "canceled" : "done";
  const state = finishedMs !== null ? over : closedMs === null ? "open" : "pending";
  const expiresMs = finishedMs === null ? null : row.expiresMs;
  return {
    ...{ id, queue: row.queue, caller: row.caller || null, state, nowMs, total, counts, index, cancelRequested },
    eta: finishedMs === null && total > ended ? estimateEnd(row, snapshot, nowMs) : null,
    percent: finishedMs !== null ? 100 : Math.min(99, Math.floor((ended / Math.max(1, total)) * 100)),
    presenceMs: row.presenceMs,
    presentUntilMs: row.presentUntilMs,
    createdMs: row.createdMs,
    finishedMs,
    expiresMs,
    expired: expiresMs !== null && expiresMs <= nowMs,
  };
}

/** Whether a look keeps it for longer: when it ends, it has no presence any more. */
export const isGroupKeptByLooks = ({ presenceMs }: Pick<GroupInspection, "presenceMs">): boolean => presenceMs !== null;

/** The version of a group as its watchers see it: state, counts, the place of its last member and cancel request. */
export function groupVersionOf({ state, counts, index, cancelRequested, finishedMs }: GroupInspection): string {
  return JSON.stringify([state, Object.values(counts), index, cancelRequested, finishedMs]);
}
