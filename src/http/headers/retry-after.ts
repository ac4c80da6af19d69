import type { Context } from "koa";
import { intervalMs } from "../../engine/estimates/estimate.ts";
import type { ProblemError } from "../../errors.ts";
import type { QueueSnapshot } from "../../store/line/snapshot.ts";
import type { Eta } from "../../wire/task.ts";

/** Bounds of computed values, seconds. */
const BOUNDS = { min: 1, max: 300 } as const;
/** For a pending task or group without an estimate. */
const UNKNOWN_NEWS_S = 2;
/** For a full queue without history, and for too many waiting webhooks. */
export const UNKNOWN_PLACE_S = 5;
/** Default for a 503. */
const UNAVAILABLE_S = 2;

/** Sets Retry-After: whole seconds, at least 1 (RFC 9110 §10.2.3). */
export function setRetryAfter(ctx: Context, seconds: number): void {
  ctx.set("Retry-After", String(Math.max(1, Math.ceil(seconds))));
}

/** The Retry-After of an error; undefined if trying again would not help. */
export function retryAfterOf({ status, retryAfterS }: ProblemError): number | undefined {
  return retryAfterS ?? (status === 503 ? UNAVAILABLE_S : undefined);
}

/**
 * When to ask for a pending task again, in whole seconds ≥ 1: at its estimated start, or its estimated end if it is running.
 * Long times vary by up to a tenth, so that callers with the same estimate do not come at once.
 * @param runningMs how long a running task will still take; null if that is unknown, or for others
 */
export function pendingRetryAfterS(eta: Eta | null, runningMs: number | null, chance = Math.random()): number {
  let seconds: number = UNKNOWN_NEWS_S;
  if (runningMs !== null) seconds = runningMs / 1000;
  else if (eta && eta.basis !== "running") seconds = eta.seconds;
  const spread = seconds > 5 ? seconds * 0.1 * chance : 0;
  return bounded(Math.round(seconds + spread));
}

/** When to ask for a group again: at its estimated end. */
export function groupRetryAfterS(eta: Eta | null): number {
  return eta === null ? UNKNOWN_NEWS_S : bounded(Math.ceil(eta.seconds));
}

/** When a place in a full queue should become free. */
export function fullRetryAfterS(snapshot: QueueSnapshot): number {
  const ms = intervalMs(snapshot);
  return ms === null ? UNKNOWN_PLACE_S : bounded(Math.ceil(ms / 1000));
}

function bounded(seconds: number): number {
  return Math.max(BOUNDS.min, Math.min(BOUNDS.max, seconds));
}
