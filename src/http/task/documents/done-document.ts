import type { Inspection } from "../../../engine/reading/inspect.ts";
import { beforeMember, resultJson } from "../../../engine/reading/result-json.ts";
import { outcomeProblem } from "../reply.ts";

/**
 * The document of the event `done`: the monitor's, with the result if it is short JSON, or the problem that collecting it would
 * answer.
 * @param seen the task, with its result
 * @param document the monitor's document of it, as JSON
 */
export function doneDocument(seen: Inspection, document: string): string {
  // A result that was not read is too long, but exists.
  const isLong = seen.result === null && !seen.expired && seen.state !== "canceled";
  const problem = isLong ? null : outcomeProblem(seen);
  const json = problem ? JSON.stringify(problem.document) : seen.result && resultJson(seen.result);
  if (!json) return document;
  return `${beforeMember(document, problem ? "problem" : "result")}${json.replace(/[\r\n]+/g, " ")}}`;
}
