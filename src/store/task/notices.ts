import type { Outcome } from "../../task.ts";
import { STATE_LETTERS, stateOf, TASK_NOTICES } from "../fields.ts";

/** How a task has ended, as far as the notice of its end says. Times are ms of Redis's clock. */
export interface NoticedEnd {
  readonly state: Outcome;
  readonly finishedMs: number;
  readonly expiresMs: number;
  readonly attempts: number;
  /** The stored form of its result; null if it has none. */
  readonly result: Buffer | null;
}

/** A notice to a process: a task or a group has changed, or how it has ended. */
export interface Notice {
  /** Of a group: its address. */
  readonly id: string;
  /** Whether it has ended, or its result was deleted. */
  readonly ended: boolean;
  /** Whether the only change is new output of its handler. */
  readonly output: boolean;
  /** Null if the task has to be read: the notice says no more. */
  readonly end: NoticedEnd | null;
}

const SPACE = 0x20;
const NEWLINE = 0x0a;
/** Letters that announce an end without being that of an outcome. */
const ENDS: ReadonlySet<string> = new Set([
  STATE_LETTERS.succeeded,
  STATE_LETTERS.failed,
  STATE_LETTERS.canceled,
  TASK_NOTICES.deleted,
  TASK_NOTICES.groupEnded,
]);

/** The notices of one message, as task/notices.lua writes them: of each its length and a space before it. */
export function* noticesOf(message: Buffer): Iterable<Notice> {
  for (let at = 0; at < message.length; ) {
    const space = message.indexOf(SPACE, at);
    const length = space < 0 ? Number.NaN : Number(message.toString("latin1", at, space));
    // Ignores messages that are not from our scripts: listeners also poll.
    if (!Number.isInteger(length) || length <= 0) return;
    at = space + 1 + length;
    yield noticeOf(message.subarray(space + 1, at));
  }
}

/** Reads "letter id", "letter id ended expires attempts" of an end without a result, or the same, a line break and the result. */
function noticeOf(notice: Buffer): Notice {
  const line = notice.indexOf(NEWLINE);
  const [letter = "", id = "", ...facts] = notice.toString("latin1", 0, line < 0 ? notice.length : line).split(" ");
  const ended = ENDS.has(letter);
  const output = letter === TASK_NOTICES.output;
  const [finishedMs = 0, expiresMs = 0, attempts = 0] = facts.map(Number);
  if (facts.length === 0) return { id, ended, output, end: null };
  const state = stateOf(letter) as Outcome;
  const result = line < 0 ? null : notice.subarray(line + 1);
  return { id, ended, output, end: { state, finishedMs, expiresMs, attempts, result } };
}
