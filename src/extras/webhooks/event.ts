import { beforeMember, resultJson } from "../../engine/tasks/result.ts";
import type { Inspection } from "../../engine/watch/inspect.ts";
import type { StoredGroupEnd } from "../../store/task/follow.ts";
import type { Outcome } from "../../task.ts";
import { timestamp } from "../../wire/document.ts";
import type { GroupInspection } from "../groups/group-inspection.ts";

/** The end of a task that has a webhook, or its call. */
export interface EventSubject {
  readonly id: string;
  readonly state: Outcome | "running";
}

/** The types of events. */
type EventType = `task.${Outcome | "called"}` | `group.${StoredGroupEnd["state"]}`;

/**
 * The body of a webhook: `{ type, timestamp, data }`, where `data` is the monitor document, with the result if that is JSON and
 * small.
 * @param atMs when the task ended, or was called
 * @param seen the task as it is now; null if it no longer exists
 */
export function eventBody(
  end: EventSubject,
  atMs: number,
  seen: Inspection | null,
  describe: (seen: Inspection) => object,
): string {
  const { id, state } = end;
  const type: EventType = `task.${state === "running" ? "called" : state}`;
  const head = { type, timestamp: timestamp(atMs) };
  // A dead task may have been run again since, and a turn may be over: then its state is no longer that of this event.
  if (!seen || !isSameEvent(end, atMs, seen)) {
    return JSON.stringify({ ...head, data: { id, ...(seen && { queue: seen.queue }), state, status: state } });
  }
  const event = JSON.stringify({ ...head, data: describe(seen) });
  const json = seen.result && resultJson(seen.result);
  return json ? `${beforeMember(event.slice(0, -1), "result")}${json}}}` : event;
}

/** Whether a task is still as an event says. */
export function isSameEvent({ state }: EventSubject, atMs: number, seen: Inspection): boolean {
  return seen.state === state && (state === "running" ? seen.startedMs : seen.finishedMs) === atMs;
}

/**
 * The body of the webhook of a group: `{ type, timestamp, data }`, where `data` is its document.
 * @param seen the group as it ended; null if it has expired, or one of its tasks runs again
 */
export function groupEventBody(
  { group: id, state }: Pick<StoredGroupEnd, "group" | "state">,
  endedMs: number,
  seen: GroupInspection | null,
  describe: (seen: GroupInspection) => object,
): string {
  const type: EventType = `group.${state}`;
  return JSON.stringify({ type, timestamp: timestamp(endedMs), data: seen ? describe(seen) : { id, state } });
}
