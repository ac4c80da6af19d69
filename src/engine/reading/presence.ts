import type { TaskRecord } from "../../store/task-record.ts";
import { isOutcome } from "../../task.ts";

type PresenceFacts = Pick<
  TaskRecord,
  "state" | "cancelRequested" | "presenceMs" | "presentUntilMs" | "deadlineMs" | "group"
>;

/** A presence is divided into this many parts. Callers are asked to look once in each, and at most one look in each is stored. */
const PARTS = 3;

/**
 * Whether a look at a task has to be stored, so that it is not canceled.
 * @param nowMs by the clock of the store
 */
export function isLookDue(task: PresenceFacts, nowMs: number): boolean {
  const { presenceMs, presentUntilMs, group } = task;
  const deadlineMs = group === null ? task.deadlineMs : null;
  if (presenceMs === null) return false;
  // A group is there for its other members, too.
  if (group === null && (task.cancelRequested || isOutcome(task.state))) return false;
  // Without an entry in the store no look would ever count again.
  if (presentUntilMs === null) return true;
  if (presentUntilMs === deadlineMs) return false;
  const leftMs = presentUntilMs - nowMs;
  // If the clock was set back, more time is left than a presence lasts.
  return leftMs <= presenceMs * (1 - 1 / PARTS) || leftMs > presenceMs;
}

/** Until when a look keeps a task, ms. */
export function keptUntil({ presenceMs, deadlineMs, group }: PresenceFacts, nowMs: number): number {
  const until = nowMs + (presenceMs ?? 0);
  return group === null ? Math.min(until, deadlineMs ?? Number.POSITIVE_INFINITY) : until;
}

/** How long a caller may wait until the next look, so that the task is kept, seconds; infinity without a presence. */
export function longestPauseS(presenceMs: number | null): number {
  return presenceMs === null ? Number.POSITIVE_INFINITY : Math.floor(presenceMs / PARTS / 1000);
}
