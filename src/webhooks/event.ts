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

/** A result of as many bytes or more is not sent along: the receiver collects it. */
export const RESULT_LIMIT = 20_000;

const JSON_TYPE = /^application\/(?:json|[a-z0-9!#$&^_.+-]+\+json)[ \t]*(?:;|$)/i;

/**
 * The body that tells of a task's end: `{ type, timestamp, data }`, with the monitor document as data, and the result in it
 * where it is JSON and small.
 * @param endedMs when it ended
 * @param seen the task as it is now; null when nothing is left of it
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
  // A dead task may have been run again since: how it stands now is not how it ended then.
  if (!seen || seen.state !== state || seen.finishedMs !== endedMs) {
    return JSON.stringify({ ...head, data: { id, ...(seen && { queue: seen.queue }), state, status: state } });
  }
  const event = JSON.stringify({ ...head, data: describe(seen) });
  const json = seen.result && jsonOf(seen.result);
  // As it is: parsed and written again, a number might not be the same.
  return json ? `${event.slice(0, -"}}".length)},"result":${json}}}` : event;
}

/** The text of a result that is JSON and small enough; undefined of any other. */
function jsonOf({ contentType, body }: Result): string | undefined {
  if (contentType === null || !JSON_TYPE.test(contentType) || body.length >= RESULT_LIMIT || !isUtf8(body)) return;
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString("utf8");
  try {
    JSON.parse(text);
    return text;
  } catch {
    // A handler's Response may say of its body what it likes.
    return undefined;
  }
}
