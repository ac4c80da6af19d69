import type { Outcome } from "../task.ts";
import { STATE_LETTERS, stateOf, TASK_NOTICES } from "./letters.ts";

/** How a task has ended, as much of it as its end tells. Times are ms of Redis's clock. */
export interface NoticedEnd {
  readonly state: Outcome;
  readonly finishedMs: number;
  readonly expiresMs: number;
  readonly attempts: number;
  /** The stored form of its result; null where it has none. */
  readonly result: Buffer | null;
}

/** What a process is told of a task: that it has changed, or how it has ended. */
export interface Notice {
  readonly id: string;
  /** Whether it has ended, or its result was destroyed. */
  readonly ended: boolean;
  /** Whether all that has happened is that its handler has written something. */
  readonly output: boolean;
  /** Null where it has to be looked at: nothing more was told. */
  readonly end: NoticedEnd | null;
}

const SPACE = 0x20;
const NEWLINE = 0x0a;
/** Letters that tell of an end without being that of an outcome. */
const ENDS: ReadonlySet<string> = new Set([
  STATE_LETTERS.succeeded,
  STATE_LETTERS.failed,
  STATE_LETTERS.canceled,
  TASK_NOTICES.destroyed,
]);

/** The notices of one message, as lua/notices.lua writes them: of each its length and a space before it. */
export function* noticesOf(message: Buffer): Iterable<Notice> {
  for (let at = 0; at < message.length; ) {
    const space = message.indexOf(SPACE, at);
    const length = space < 0 ? Number.NaN : Number(message.toString("latin1", at, space));
    // What no script of ours has written is left alone: whoever listens also looks.
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
