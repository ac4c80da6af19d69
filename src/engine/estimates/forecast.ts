import { SHARED } from "../../store/constants.ts";
import { combined, type Rest } from "./reports.ts";

/** The basis of a forecast: a queue whose slots are all busy. Times are in ms. */
export interface Busy {
  /** How many tasks must end before this one starts, from 1. */
  readonly turnovers: number;
  readonly slots: number;
  /** How long some of the running tasks have been running; may be empty. */
  readonly agesMs: readonly number[];
  /** What these have reported about how long they will still take, in the same order. */
  readonly reported?: readonly (Rest | null)[];
  /** The standard deviation of the error of their ages, ms; default 0. */
  readonly unsureMs?: number;
  /** The service times: exponentially weighted mean and variance, and their number, from 1. */
  readonly meanMs: number;
  readonly variance: number;
  readonly samples: number;
  /** Mean square errors of the mean as a forecast for blocks of {@link BLOCKS} tasks, as far as measured. */
  readonly misses: readonly number[];
  /** The mean over many more tasks, null before the first of these blocks has ended; and its errors. */
  readonly slowMeanMs: number | null;
  readonly slowMisses: readonly number[];
}

/** When something will happen, ms from now: between low and high in about 80 of 100 cases. */
export interface Forecast {
  readonly lowMs: number;
  readonly middleMs: number;
  readonly highMs: number;
}

const BLOCKS = SHARED.forecastBlocks;
/** The number of equally weighted samples that determine a mean as well as the exponentially weighted ones. */
const MAX_EFFECTIVE_SAMPLES = Math.round(2 / SHARED.minWeight - 1);
const MAX_SLOW_SAMPLES = BLOCKS[0] * Math.round(2 / SHARED.minSlowWeight - 1);
/**
 * Low and high are this many standard deviations from the middle. A normal distribution would need 1.28 for 80 of 100 cases; the
 * parts of the spread are each a little too large, and `npm run bench -- estimates` comes nearest to 80 with this.
 */
const Z80 = 1.18;
/** If no task took a millisecond, the mean is 0; divisions by it, and by its square, must still give a number. */
const MIN_MEAN_MS = 0.001;
/** If the time when a slot becomes free varies by less than this many mean service times, the slots keep their order. */
const ORDERED = 0.25;
/** Without measurements, an error grows by this factor from one block to the next longer one. */
const GROWTH = 2;
/** A middle is at least this share of the mean. */
const MIN_SHARE = 0.1;
/** Lines are long when work is slowest: then the error of the mean is larger than on average. */
const WORST_TIME = 1.2;

/**
 * Forecasts when the given number of turnovers will have happened.
 *
 * Each slot is a chain: the rest of its running task, then one service time after the other. As long as service times vary
 * little, the chains keep the order in which the running tasks will end (tasks that began together end together), so only the
 * chain of the turnover in question matters. Later, or if they vary more, the order is lost, and the turnovers of all chains
 * are counted together. Middle and spread are those of a gamma distribution; the spread includes the measured error of the mean
 * itself.
 */
export function forecastTurnovers(busy: Busy): Forecast {
  const { turnovers, slots, reported = [] } = busy;
  const mean = believedMean(busy);
  const service = serviceOf(busy, mean.meanMs);
  const chain = inOrder(busy, service) ?? together(busy, service);
  // The tasks that say themselves how long they will take do not depend on the mean.
  const said = reported.length === 0 ? 0 : reported.filter((rest) => rest !== null).length / reported.length;
  const unsaid = turnovers / slots - said * Math.min(1, turnovers / slots);
  const missed = unsaid ** 2 * WORST_TIME * mean.error;
  return gamma(chain.middleMs, Math.sqrt(chain.variance + missed + (busy.unsureMs ?? 0) ** 2));
}

/** Corrected mean and variance of the service times. */
interface Service {
  readonly meanMs: number;
  readonly variance: number;
  /** The squared coefficient of variation: 0 for constant times, 1 for exponential ones. */
  readonly cv2: number;
}

/**
 * Corrects for few samples: short tasks end first, so running tasks that already exceed the mean show that it is too low; and
 * few samples vary less than their distribution. Both corrections shrink as the number of samples grows.
 */
function serviceOf({ agesMs, variance, samples }: Busy, meanMs: number): Service {
  let overdue = 0;
  for (const age of agesMs) if (age > meanMs) overdue += age;
  const mean = Math.max(meanMs + overdue / samples, MIN_MEAN_MS);
  const believed = variance + (mean - meanMs) ** 2 + (mean / samples) ** 2;
  return { meanMs: mean, variance: believed, cv2: believed / mean ** 2 };
}

/**
 * The remaining time of a task that has been running for a while: it shrinks if service times are even, and grows if they are
 * uneven.
 */
function residual(ageMs: number, { meanMs, variance, cv2 }: Service): Rest {
  if (cv2 >= 1) return { ms: Math.min(meanMs + ageMs * (cv2 - 1), (meanMs * (1 + cv2)) / 2), variance };
  const ms = Math.max(meanMs - ageMs * (1 - cv2), meanMs * cv2);
  return { ms, variance: Math.min(variance, ms ** 2) };
}

/** The remaining times of running tasks, as far as their ages are known, from these and from what they report. */
function restsOf({ agesMs, reported = [] }: Busy, service: Service): Rest[] {
  return agesMs.map((age, n) => {
    const [rest, told] = [residual(age, service), reported[n]];
    return told ? combined(rest, told) : rest;
  });
}

interface Turnover {
  readonly middleMs: number;
  readonly variance: number;
}

/** The turnover of its chain, as long as the chains keep their order; otherwise undefined. */
function inOrder(busy: Busy, service: Service): Turnover | undefined {
  const { turnovers, slots, agesMs, reported = [] } = busy;
  const { meanMs, variance } = service;
  const rounds = Math.floor((turnovers - 1) / slots);
  // What running tasks say themselves keeps its order.
  const isTold = rounds === 0 && reported.length === agesMs.length && reported.every((rest) => rest !== null);
  const isOrdered = isTold || Math.sqrt(variance * (rounds + 1)) <= ORDERED * meanMs;
  if (agesMs.length === 0 || !isOrdered) return undefined;
  const left = restsOf(busy, service).sort((a, b) => a.ms - b.ms);
  // Only some of the running tasks may have known ages.
  const place = Math.floor(((((turnovers - 1) % slots) + 0.5) * left.length) / slots);
  const first = left[Math.min(place, left.length - 1)] ?? { ms: meanMs, variance };
  const alone = Math.min(first.variance, first.ms ** 2) + rounds * variance;
  // Neighbouring chains may overtake each other, and then the next of them turns over: together they vary less than one.
  const pooled = meanMs * Math.sqrt(alone) * (BERNOULLI / slots);
  return { middleMs: first.ms + rounds * meanMs, variance: isTold ? alone : Math.min(alone, pooled) };
}

/**
 * ∫Φ(1 − Φ): the variance of whether a chain has turned over, averaged over the time of observation, per unit of its spread.
 */
const BERNOULLI = 0.564;

/** The turnover, counting all chains together. */
function together(busy: Busy, service: Service): Turnover {
  const { turnovers, slots } = busy;
  const { meanMs, cv2 } = service;
  // At a random moment, a running task has (1 + cv²)/2 of a mean left, and the same time behind it.
  const stationary = (meanMs * (1 + cv2)) / 2;
  const known = restsOf(busy, service);
  const left = known.length > 0 ? known : [residual(stationary, service)];
  const perTurnover = meanMs / slots;
  // Exact for one slot; with many uneven ones the turnovers are a Poisson process.
  const offset = cv2 < 1 ? (1 - cv2) / 2 : (1 - cv2) / 2 / slots;
  const countsRests = cv2 < 1 || slots === 1 || busy.reported?.some((rest) => rest !== null);
  const phase = countsRests ? left.reduce((sum, { ms }) => sum + ms, 0) / left.length - stationary : 0;
  const middleMs = Math.max(perTurnover * (turnovers - offset) + phase, perTurnover / 4);
  let counted = 0;
  for (const { ms, variance } of left) {
    const spread = variance / meanMs ** 2 + (cv2 * Math.max(0, middleMs - ms)) / meanMs;
    const ofChain = spread < 0.09 ? BERNOULLI * Math.sqrt(spread) : spread + 1 / 12;
    counted += Math.min(ofChain, (Math.max(1, cv2) * middleMs) / meanMs);
  }
  return { middleMs, variance: perTurnover ** 2 * counted * (slots / left.length) };
}

/**
 * The mean service time of the tasks in front, and its mean square error, ms². The mean of the latest tasks follows a change, while the
 * slow mean is less affected by chance: whichever has been the better forecast over as many tasks has the greater weight.
 */
function believedMean(busy: Busy): { readonly meanMs: number; readonly error: number } {
  const { meanMs, slowMeanMs, misses, slowMisses, samples } = busy;
  const { variance } = serviceOf(busy, meanMs);
  const error = meanError(busy, misses, variance, Math.min(samples, MAX_EFFECTIVE_SAMPLES));
  if (slowMeanMs === null) return { meanMs, error };
  const inBlocks = Math.max(samples - (samples % BLOCKS[0]), BLOCKS[0]);
  const slowError = meanError(busy, slowMisses, variance, Math.min(inBlocks, MAX_SLOW_SAMPLES));
  const slowWeight = error ** 2 / (error ** 2 + slowError ** 2);
  return {
    meanMs: meanMs + slowWeight * (slowMeanMs - meanMs),
    error: error + slowWeight * (slowError - error),
  };
}

/**
 * Mean square error of a mean service time as a forecast for the tasks in front: how well that number of samples determines it, and how far
 * it has drifted over as many tasks in the past, beyond the chance in each block of tasks. ms².
 */
function meanError(
  { turnovers, samples }: Busy,
  misses: readonly number[],
  variance: number,
  effectiveSamples: number,
): number {
  const known = variance / effectiveSamples;
  let before = known;
  const errors = BLOCKS.map((length, i) => {
    const seen = Math.max(0, Math.floor(samples / length) - 1);
    const own = Math.max(0, (misses[i] ?? 0) - variance / length) * (1 + 2 / Math.max(1, seen));
    const weight = seen / (seen + 3);
    before = weight * own + (1 - weight) * before * GROWTH;
    return before;
  });
  // Logarithmic interpolation between two block lengths; each is four times the one before.
  const at = Math.log(turnovers / BLOCKS[0]) / Math.log(4);
  const lower = Math.min(Math.floor(at), BLOCKS.length - 1);
  const [shortest = known] = errors;
  if (lower < 0) return known + (shortest - known) * (turnovers / BLOCKS[0]);
  const [here = known, next = here] = errors.slice(lower);
  return here + (next - here) * (at - lower);
}

/** Quantiles of the gamma distribution of this mean and deviation, by Wilson and Hilferty's approximation. */
function gamma(meanMs: number, deviationMs: number): Forecast {
  const shape = (meanMs / Math.max(deviationMs, Number.MIN_VALUE)) ** 2;
  const quantile = (z: number) =>
    Number.isFinite(shape) ? meanMs * Math.max(0, 1 - 1 / (9 * shape) + z / (3 * Math.sqrt(shape))) ** 3 : meanMs;
  // After a change of the work the deviation may be several means: then the approximation is 0.
  const middleMs = Math.max(quantile(0), meanMs * MIN_SHARE);
  return { lowMs: quantile(-Z80), middleMs, highMs: Math.max(quantile(Z80), middleMs) };
}
