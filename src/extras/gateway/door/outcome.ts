/** How a request at a door has ended: what its caller is told, and what it shows of the API. */
import { ProblemError } from "../../../errors.ts";
import type { TargetState } from "../circuit-breakers.ts";
import type { Relayed } from "./relay.ts";

const UNAVAILABLE = 503;
const MAY_HAVE = "The request may have been carried out.";
/** Some clients repeat any such answer, and the request would be carried out twice. */
const NOT_AGAIN = { "X-Should-Retry": "false" };
/** After this time a caller may ask again, here or at another server, s. */
const AGAIN_S = 1;

/** The refusal of a request whose turn is over before it was called: canceled by an operator, or not kept in time. */
export const overProblem = () => new ProblemError("turn-over", "The request was not sent.", { retryAfterS: AGAIN_S });

/** The refusal of a request that has not been called before the server stops. */
export const stoppingProblem = () => new ProblemError("stopping", undefined, { retryAfterS: AGAIN_S });

/** The refusal of a request that no API may see: two servers might read it in two ways. */
export function malformedProblem(detail: string): ProblemError {
  return new ProblemError("invalid-parameter", detail, { headers: { Connection: "close" } });
}

/**
 * What a caller is told whose request has no whole answer.
 * @param isOver whether its turn was over before
 */
export function problemOf(relayed: Exclude<Relayed, { how: "whole" | "left" }>, isOver: boolean): ProblemError {
  if (relayed.how === "aborted") {
    const extensions = { mayHaveBeenCarriedOut: true };
    return new ProblemError(isOver ? "turn-over" : "stopping", MAY_HAVE, { extensions, headers: NOT_AGAIN });
  }
  const mayHave = relayed.how !== "refused";
  const isLate = relayed.how !== "broke-off" && relayed.timedOut;
  const detail = `${mayHave ? MAY_HAVE : "The request was not sent."} (${relayed.reason})`;
  return new ProblemError(isLate ? "answer-timeout" : "no-answer", detail, {
    extensions: { mayHaveBeenCarriedOut: mayHave },
    ...(mayHave && { headers: NOT_AGAIN }),
  });
}

/** What the status of an answer shows of the API. */
export function targetWith(status: number): TargetState {
  return { state: status === UNAVAILABLE ? "down" : "up", reason: `status ${status}`, repeatable: false };
}

/** What a request without an answer shows of the API; undefined for nothing. */
export function targetWithout(relayed: Relayed): TargetState | undefined {
  if (relayed.how === "refused") return { state: "down", reason: relayed.reason, repeatable: true };
  if (relayed.how === "unanswered") return { state: "unclear", reason: relayed.reason, repeatable: false };
  return undefined;
}
