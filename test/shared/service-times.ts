import type { QueueSnapshot } from "../../src/store/line/snapshot.ts";

const WINDOW = 64;
/** Quantiles of an exponential distribution, mixed, with mean 0 and deviation 1. */
const SPREAD = (() => {
  const quantiles = Array.from({ length: WINDOW }, (_, n) => -Math.log(1 - (((n * 37) % WINDOW) + 0.5) / WINDOW));
  const mean = quantiles.reduce((sum, one) => sum + one, 0) / WINDOW;
  const deviation = Math.sqrt(quantiles.reduce((sum, one) => sum + (one - mean) ** 2, 0) / WINDOW);
  return quantiles.map((one) => (one - mean) / deviation);
})();

/** Service times as snapshots have them: uneven ones, with this mean and deviation if the window is full. */
export function serviceTimes(
  meanMs: number,
  deviationMs = 0,
  samples = 500,
): Pick<QueueSnapshot, "samples" | "timesMs"> {
  return { samples, timesMs: SPREAD.slice(0, samples).map((one) => meanMs + one * deviationMs) };
}

export const NO_TIMES = { samples: 0, timesMs: [] } as const;
