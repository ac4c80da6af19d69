import { ProblemError } from "../../errors.ts";
import type { Logger } from "../../log.ts";
import type { AcceptedLine } from "../../wire/submission.ts";
import { type ProblemDocument, problemOf, shownProblem } from "../problems/problem.ts";
import type { Sender } from "../request/forwarded.ts";

/** Maximum number of errors reported for the input of one line. */
const MAX_FIELD_ERRORS = 10;

/** Why a line became no task. */
export interface RefusedLine {
  readonly line: number;
  readonly problem: ProblemDocument;
  readonly error: ProblemError;
}

/** What became of a line. */
export type LineVerdict = AcceptedLine | RefusedLine;

/** The verdicts of a batch, those of lines that were stored together at once; at the end the number of its lines, null if it broke off. */
export type BatchVerdicts = AsyncGenerator<readonly LineVerdict[], number | null, void>;

/**
 * The verdict on a line that was refused; of many errors in its input the first are told.
 * @param id the id that it was to have
 */
export function refusedLine(ctx: Sender, log: Logger, line: number, reason: unknown, id?: string): RefusedLine {
  const problem = shownProblem(ctx, problemOf(reason, log));
  const error = reason instanceof ProblemError ? reason : new ProblemError("internal");
  // With this id it can be submitted again without running twice.
  if (mayBeStored(error)) return { line, problem: { ...problem, id: problem.id ?? id }, error };
  const { errors } = problem;
  if (!Array.isArray(errors) || errors.length <= MAX_FIELD_ERRORS) return { line, problem, error };
  const moreErrors = Number(problem.moreErrors ?? 0) + errors.length - MAX_FIELD_ERRORS;
  return { line, problem: { ...problem, errors: errors.slice(0, MAX_FIELD_ERRORS), moreErrors }, error };
}

/** Whether a line may have become a task although it was refused. */
export function mayBeStored({ code }: ProblemError): boolean {
  return code === "store-unavailable" || code === "not-durable";
}

/** Lines of the response. */
export function verdictLines(verdicts: readonly LineVerdict[]): string {
  return verdicts.map(verdictLine).join("");
}

function verdictLine(verdict: LineVerdict): string {
  const { line } = verdict;
  return `${JSON.stringify("problem" in verdict ? { line, problem: verdict.problem } : verdict)}\n`;
}
