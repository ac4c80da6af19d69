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

/** The problem of an error code, with a detail for the caller. */
export function catalogueResult(code: ErrorCode, detail?: string): Answer {
  const { status, title } = errorEntry(code);
  return problemResult({ type: `/problems/${code}`, title, status, ...(detail === undefined ? {} : { detail }) });
}
