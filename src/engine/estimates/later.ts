import type { Forecast } from "./forecast.ts";

/** Steps in which a share of cases is searched: 2^-30 of the range. */
const STEPS = 30;
/** Low and high are this many standard deviations from the middle, where a distribution is a normal one. */
export const Z80 = 1.2816;

/**
 * The forecast of what begins once both of two have happened, each by chance of its own.
 * @param times how many events like the second must have happened
 */
export function later(a: Forecast, b: Forecast, times = 1): Forecast {
  if (a.lowMs >= b.highMs) return a;
  if (b.lowMs >= a.highMs && times === 1) return b;
  const both = (ms: number) => shareUntil(a, ms) * shareUntil(b, ms) ** times;
  const at = (share: number) => {
    let [from, to] = [Math.max(a.lowMs, b.lowMs), 2 * Math.max(a.highMs, b.highMs)];
    for (let n = 0; n < STEPS; n += 1) {
      const middle = (from + to) / 2;
      if (both(middle) < share) from = middle;
      else to = middle;
    }
    return to;
  };
  return { lowMs: at(0.1), middleMs: at(0.5), highMs: at(0.9) };
}

/** In which share of cases it has happened by then: a normal distribution on either side of the middle. */
function shareUntil({ lowMs, middleMs, highMs }: Forecast, ms: number): number {
  const deviation = (ms < middleMs ? middleMs - lowMs : highMs - middleMs) / Z80;
  if (deviation <= 0) return ms >= middleMs ? 1 : 0;
  // The normal distribution to four digits, by a logistic curve.
  const z = (ms - middleMs) / deviation;
  return 1 / (1 + Math.exp(-1.5976 * z - 0.07056 * z ** 3));
}
