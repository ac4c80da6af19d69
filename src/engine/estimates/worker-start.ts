import { SHARED } from "../../store/constants.ts";
import type { WorkerStart } from "../../store/verbs/scripts.ts";
import type { Forecast } from "./forecast.ts";

/** How much starts vary before it is known: the standard deviation of their logarithms. It counts as much as so many starts. */
const USUAL = { deviation: 0.25, starts: 0.5 } as const;
/** Few starts vary less than those to come, and not as this distribution: `npm run bench -- estimates` comes nearest to 80 with this. */
const WIDER = 1.4;
/** The number of equally weighted starts that determine a mean as well as the exponentially weighted ones. */
const MAX_EFFECTIVE_STARTS = 2 / SHARED.minStartWeight - 1;
/** The store keeps times in whole milliseconds; and a start that is still to come takes some time. */
const LEAST_MS = 1;

/**
 * Forecasts when the first worker of a queue will have started, as the log-logistic distribution does: for a start that takes longer than
 * usual, the rest and its spread grow with the time that has already passed.
 */
export function forecastStart({ elapsedMs, declaredMs, meanMs, variance, samples }: WorkerStart): Forecast {
  const starts = declaredMs === null ? Math.min(samples, MAX_EFFECTIVE_STARTS) : 0;
  const mean = Math.max(meanMs, LEAST_MS);
  const seen = starts * Math.log1p(variance / mean ** 2);
  const spread = (USUAL.starts * USUAL.deviation ** 2 + seen) / (USUAL.starts + Math.max(0, starts - 1));
  const median = declaredMs ?? mean / Math.exp(spread / 2);
  // A mean of few starts is itself uncertain.
  const shape = Math.PI / Math.sqrt(3 * WIDER * spread * (1 + 1 / Math.max(1, starts)));
  const odds = 1 + (elapsedMs / median) ** shape;
  const left = (share: number) => Math.max(LEAST_MS, median * (odds / (1 - share) - 1) ** (1 / shape) - elapsedMs);
  return { lowMs: left(0.1), middleMs: left(0.5), highMs: left(0.9) };
}
