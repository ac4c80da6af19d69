import { SHARED } from "../../store/constants.ts";
import type { WorkerStart } from "../../store/line/snapshot.ts";
import type { Forecast } from "./forecast.ts";

/** The assumed standard deviation of the logarithms of start times, and how many observed starts this assumption weighs as much as. */
const USUAL = { deviation: 0.25, starts: 0.5 } as const;
/** Widens the range, since a few past starts vary less than future ones; with this factor `npm run bench -- estimates` comes nearest to 80. */
const WIDER = 1.4;
/** The number of equally weighted starts that determine a mean as well as the exponentially weighted ones. */
const MAX_EFFECTIVE_STARTS = 2 / SHARED.minStartWeight - 1;
/** The shortest time of a start that is still to come: the store keeps whole milliseconds. */
const LEAST_MS = 1;

/**
 * Forecasts when the first worker of a queue will have started, by a log-logistic distribution: the longer a start has taken beyond the
 * usual time, the longer and the less certain is the rest.
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
