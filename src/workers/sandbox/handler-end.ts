import { LONGEST_MS } from "../../config/duration.ts";
import type { ErrorRecord, HandlerEnd } from "../../engine/tasks/attempt-end.ts";
import { messageOf, partsOf } from "../../errors.ts";
import { type GiveUp, isGiveUp, isRetryAfter, isRetryLater, type Problem } from "../../handler/intents.ts";
import { jsonText } from "../../handler/json-text.ts";

/** An error that another attempt would not solve, such as an invalid input or a result that is too large. */
export class PermanentError extends Error {
  override readonly name = "PermanentError";
}

/** Maximum number of causes of an error that are logged, and their total length. */
const CAUSES = 5;
const STACK_LENGTH = 10_000;
/** Maximum length of a reported message. Longer than what the log shows, since the log also looks for secrets beyond its cut. */
const MESSAGE_LENGTH = 4000;

/**
 * The end of a handler that threw. Never throws itself.
 * @param maxBytes maximum size of a problem, which is a result like any other
 */
export function endOfThrown(thrown: unknown, maxBytes: number): HandlerEnd {
  try {
    if (thrown instanceof PermanentError)
      return { kind: "permanent", message: thrown.message.slice(0, MESSAGE_LENGTH) };
    if (isRetryLater(thrown)) return { kind: "later", afterMs: clampedMs(thrown.afterMs) };
    if (isGiveUp(thrown)) return givenUp(thrown, maxBytes);
    if (isRetryAfter(thrown)) return { kind: "error", error: errorRecord(thrown), afterMs: clampedMs(thrown.afterMs) };
  } catch (error) {
    // A problem that JSON cannot represent, or an object with throwing getters.
    return { kind: "error", error: errorRecord(error) };
  }
  return { kind: "error", error: errorRecord(thrown) };
}

/** The record of a thrown value, for the log and the store. Never throws itself. */
export function errorRecord(thrown: unknown): ErrorRecord {
  const said = messageOf(thrown).slice(0, MESSAGE_LENGTH);
  const message = said || `a thrown ${typeof thrown} without a message`;
  try {
    if (thrown instanceof Error) {
      const type = String(thrown.name);
      return {
        type,
        message: said || `${type} without a message`,
        stack: stackOf(thrown, CAUSES).slice(0, STACK_LENGTH),
      };
    }
  } catch {
    // A getter throws: only the message is used.
  }
  return { type: typeof thrown, message, stack: message };
}

/** An error for the log: without a prototype, otherwise pino would log its type as Object. */
export function errorForLog(error: unknown): unknown {
  return typeof error === "object" && error !== null ? Object.assign(Object.create(null), error) : error;
}

/** With the errors in it, and its cause. @param depth how deep to look for them */
function stackOf(error: unknown, depth: number): string {
  if (!(error instanceof Error)) return messageOf(error);
  const stack = String(error.stack);
  if (depth === 0) return stack;
  const { cause } = error;
  const parts = partsOf(error).map((part) => `\none of its errors: ${stackOf(part, 0)}`);
  return [stack, ...parts, ...(cause === undefined ? [] : [`\ncaused by: ${stackOf(cause, depth - 1)}`])].join("");
}

/** Clamps the value, since handlers can create these errors without the functions that check it. */
function clampedMs(ms: number): number {
  return Number.isFinite(ms) ? Math.min(Math.max(0, Math.round(ms)), LONGEST_MS) : 0;
}

/** @throws TypeError for a value that JSON cannot represent */
function givenUp(thrown: GiveUp, maxBytes: number): HandlerEnd {
  const json = jsonText(thrown.problem, "the problem of giveUp") ?? "{}";
  const bytes = Buffer.byteLength(json);
  if (bytes > maxBytes) {
    return {
      kind: "permanent",
      message: `the problem of giveUp has ${bytes} bytes, more than MAX_RESULT (${maxBytes})`,
    };
  }
  const copy = JSON.parse(json) as Problem;
  const { status } = copy;
  const isError = Number.isInteger(status) && Number(status) >= 400 && Number(status) <= 599;
  const problem = { ...copy, ...textsOf(copy), status: isError ? Number(status) : 500 };
  return { kind: "give-up", problem, message: messageOf(thrown).slice(0, MESSAGE_LENGTH) };
}

/** The members that must be strings by RFC 9457 §3.1; an untyped handler may have set other values. */
function textsOf(problem: Problem): Problem {
  const members = ["type", "title", "detail"] as const;
  return Object.fromEntries(
    members.flatMap((name) => {
      const member: unknown = problem[name];
      if (member === undefined || typeof member === "string") return [];
      return [[name, JSON.stringify(member)]];
    }),
  );
}
