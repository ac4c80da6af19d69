import { type ErrorCode, errorEntry } from "../errors.ts";
import type { Problem } from "../handler/intents.ts";
import type { Answer } from "../task.ts";

/** The media type of problem documents (RFC 9457). */
export const PROBLEM_TYPE = "application/problem+json";

/** A problem as the result of a task: what a collector of it will see. */
export function problemResult(problem: Problem & { status: number }): Answer {
  return {
    status: problem.status,
    contentType: PROBLEM_TYPE,
    headers: {},
    body: JSON.stringify(problem),
  };
}

/** The catalogue's problem of a code, with a detail that a caller may read. */
export function catalogueResult(code: ErrorCode, detail?: string): Answer {
  const { status, title } = errorEntry(code);
  return problemResult({ type: `/problems/${code}`, title, status, ...(detail === undefined ? {} : { detail }) });
}
