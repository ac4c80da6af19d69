import { isUtf8 } from "node:buffer";
import type { Inspection } from "../engine/inspect.ts";
import type { Outcome, Result } from "../task.ts";
import { timestamp } from "../timestamp.ts";

/** The end of a task that has a webhook. */
export interface TaskEnd {
  readonly id: string;
  readonly state: Outcome;
}

/** The types of events. */
type EventType = `task.${Outcome}`;

/** A result of this many bytes or more is not included: the receiver can collect it. */
export const RESULT_LIMIT = 20_000;

const JSON_TYPE = /^application\/(?:json|[a-z0-9!#$&^_.+-]+\+json)[ \t]*(?:;|$)/i;

/**
 * The body of a webhook: `{ type, timestamp, data }`, where `data` is the monitor document, with the result if that is JSON and
 * small.
 * @param endedMs when the task ended
 * @param seen the task as it is now; null if it no longer exists
 */
export function eventBody(
  end: TaskEnd,
  endedMs: number,
  seen: Inspection | null,
  describe: (seen: Inspection) => object,
): string {
  const { id, state } = end;
  const type: EventType = `task.${state}`;
  const head = { type, timestamp: timestamp(endedMs) };
  // A dead task may have been run again since: then its state is no longer that of this event.
  if (!seen || seen.state !== state || seen.finishedMs !== endedMs) {
    return JSON.stringify({ ...head, data: { id, ...(seen && { queue: seen.queue }), state, status: state } });
  }
  const event = JSON.stringify({ ...head, data: describe(seen) });
  const json = seen.result && jsonOf(seen.result);
  // Inserted as text: parsing and serializing it might change a number.
  return json ? `${event.slice(0, -"}}".length)},"result":${json}}}` : event;
}

/** The text of a result that is JSON and small enough; otherwise undefined. */
function jsonOf({ contentType, body }: Result): string | undefined {
  if (contentType === null || !JSON_TYPE.test(contentType) || body.length >= RESULT_LIMIT || !isUtf8(body)) return;
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString("utf8");
  try {
    JSON.parse(text);
    return text;
  } catch {
    // The body of a handler's Response need not match its content type.
    return undefined;
  }
}
