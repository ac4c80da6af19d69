import type { Context } from "koa";
import type { Eta } from "../../engine/estimates/estimate.ts";
import type { PaihaoError } from "../../errors.ts";
import type { Line } from "../../store/scripts/scripts.ts";

/** Bounds of what is computed, seconds. */
const BOUNDS = { least: 1, most: 300 } as const;
/** For a pending task of which nothing is known. */
const UNKNOWN_NEWS_S = 2;
/** For a full queue without history, or one that others empty. */
export const UNKNOWN_PLACE_S = 5;
/** For a 503 that does not say. */
const UNAVAILABLE_S = 2;

/** Tells when to come again: whole seconds, at least 1 (RFC 9110 §10.2.3). */
export function setRetryAfter(ctx: Context, seconds: number): void {
  ctx.set("Retry-After", String(Math.max(1, Math.ceil(seconds))));
}

/** When to come again after an error; undefined where it is not a matter of time. */
export function retryAfterOf({ status, retryAfterS }: PaihaoError): number | undefined {
  return retryAfterS ?? (status === 503 ? UNAVAILABLE_S : undefined);
}

/**
 * When to ask for a pending task again, in whole seconds ≥ 1: at the estimated start, while it runs at the estimated end. Long
 * times are spread by up to a tenth, so that callers with the same estimate do not come at once.
 */
export function pendingRetryAfterS(
  eta: Eta | null,
  line: Line,
  runningForMs: number | null,
  chance = Math.random(),
): number {
  let seconds: number = UNKNOWN_NEWS_S;
  if (runningForMs !== null && line.meanMs !== null) seconds = (line.meanMs - runningForMs) / 1000;
  else if (eta && eta.basis !== "running") seconds = eta.seconds;
  const spread = seconds > 5 ? seconds * 0.1 * chance : 0;
  return bounded(Math.round(seconds + spread));
}

/** When a place in a full queue should come free: after a mean service time, shared by all slots. */
export function fullRetryAfterS({ meanMs, slots }: Pick<Line, "meanMs" | "slots">): number {
  return meanMs !== null && slots > 0 ? bounded(Math.ceil(meanMs / slots / 1000)) : UNKNOWN_PLACE_S;
}

function bounded(seconds: number): number {
  return Math.max(BOUNDS.least, Math.min(BOUNDS.most, seconds));
}
