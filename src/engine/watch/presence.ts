import type { TaskRecord } from "../../store/task/record.ts";
import { isOutcome } from "../../task.ts";

type PresenceFacts = Pick<
  TaskRecord,
  "state" | "cancelRequested" | "presenceMs" | "presentUntilMs" | "deadlineMs" | "group"
>;

/** A presence is divided into this many parts; callers are asked to look once in each. */
const PARTS = 3;

/** Whether a look at a task keeps it for longer, and so has to be stored. */
export function isKeptByLooks(task: PresenceFacts): boolean {
  const { presenceMs, presentUntilMs, group, deadlineMs } = task;
  if (presenceMs === null) return false;
  // A group is there for its other members, too.
  if (group !== null) return true;
  if (task.cancelRequested || isOutcome(task.state)) return false;
  return presentUntilMs === null || presentUntilMs !== deadlineMs;
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
