import type { Logger } from "../../log.ts";
import type { AcceptedLine } from "../../wire/batch.ts";
import { type ProblemDocument, problemOf } from "../problems/problem.ts";

/** Most errors reported for the input of one line. */
const MAX_FIELD_ERRORS = 10;

/** A line of the response to a batch, without its number. */
export type LineVerdict = { readonly problem: ProblemDocument } | Omit<AcceptedLine, "line">;

/** A line of the response. */
export function verdictLine(line: number, verdict: LineVerdict): string {
  return `${JSON.stringify({ line, ...verdict })}\n`;
}

/** Why a line was refused; of many errors in its input the first. */
export function lineProblem(error: unknown, log: Logger): { problem: ProblemDocument } {
  const problem = problemOf(error, log);
  const { errors } = problem;
  if (!Array.isArray(errors) || errors.length <= MAX_FIELD_ERRORS) return { problem };
  const told = errors.slice(0, MAX_FIELD_ERRORS);
  const moreErrors = Number(problem.moreErrors ?? 0) + errors.length - told.length;
  return { problem: { ...problem, errors: told, moreErrors } };
}
