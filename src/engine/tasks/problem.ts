import { type ErrorCode, errorEntry } from "../../errors.ts";
import type { Problem } from "../../handler/intents.ts";
import type { Answer } from "../../task.ts";

/** The media type of problem documents (RFC 9457). */
export const PROBLEM_TYPE = "application/problem+json";

/** A problem as the result of a task. */
export function problemResult(problem: Problem & { status: number }): Answer {
  return {
    status: problem.status,
    contentType: PROBLEM_TYPE,
    headers: {},
    body: JSON.stringify(problem),
  };
}

/**
 * The problem of an error code.
 * @param detail for the caller
 * @param stack of what a handler threw, for its author
 */
export function catalogueResult(code: ErrorCode, detail?: string, stack?: string): Answer {
  const { status, title } = errorEntry(code);
  const more = { ...(detail !== undefined && { detail }), ...(stack !== undefined && { stack }) };
  return problemResult({ type: `/problems/${code}`, title, status, ...more });
}
