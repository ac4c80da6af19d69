import { SHARED } from "../../store/constants.ts";
import type { WorkerStart } from "../../store/line/snapshot.ts";
import { combined, type Rest, type ServiceFigures } from "./service-figures.ts";

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
  readonly service: ServiceFigures;
}

/** When something will happen, ms from now: between low and high in about 80 of 100 cases. */
export interface Forecast {
  readonly lowMs: number;
  readonly middleMs: number;
  readonly highMs: number;
}

/**
 * Low and high of turnovers are this many standard deviations from the middle. A normal distribution would need 1.28 for 80 of 100 cases; the
 * parts of the spread are each a little too large, and `npm run bench -- estimates` comes nearest to 80 with this.
 */
const TURNOVERS_Z80 = 1.18;
/** If no task took a millisecond, the mean is 0; divisions by it, and by its square, must still give a number. */
const MIN_MEAN_MS = 0.001;
/** If the time when a slot becomes free varies by less than this many mean service times, the slots keep their order. */
const ORDERED = 0.25;
/** The standard deviation of the mean of what is still to come is at most this share of it. */
const MAX_DRIFT = 0.4;

/**
 * Forecasts when the given number of turnovers will have happened.
 *
 * Each slot is a chain: the rest of its running task, then one service time after the other. As long as service times vary
 * little, the chains keep the order in which the running tasks will end (tasks that began together end together), so only the
 * chain of the turnover in question matters. Later, or if they vary more, the order is lost, and the turnovers of all chains
 * are counted together. The spread includes the error of the mean itself. Whatever the mean, the rounds that are certain to come take
 * as long as the quickest tasks.
 */
export function forecastTurnovers(busy: Busy): Forecast {
  const { turnovers, slots, reported = [], unsureMs = 0 } = busy;
  const service = believed(busy);
  const chain = inOrder(busy, service) ?? together(busy, service);
  // The tasks that say themselves how long they will take do not depend on the mean.
  const said = reported.length === 0 ? 0 : reported.filter((rest) => rest !== null).length / reported.length;
  const unsaid = turnovers / slots - said * Math.min(1, turnovers / slots);
  const missed = unsaid ** 2 * service.error;
  const leastMs = Math.floor((turnovers - 1) / slots) * service.quickestMs;
  return logNormal(chain.middleMs, chain.variance + missed + unsureMs ** 2, leastMs);
}

/** The service times as a forecast uses them. */
interface Service extends Pick<ServiceFigures, "sortedMs" | "meanMs" | "variance" | "error" | "quickestMs"> {
  /** The squared coefficient of variation: 0 for constant times, 1 for exponential ones. */
  readonly cv2: number;
}

/**
 * Corrects for few times: short tasks end first, so running tasks that already exceed the mean show that it is too low; and
 * few times vary less than their distribution. Both corrections shrink as their number grows.
 */
function believed({ agesMs, turnovers, service }: Busy): Service {
  const { samples, sortedMs } = service;
  let overdue = 0;
  for (const age of agesMs) if (age > service.meanMs) overdue += age;
  const meanMs = Math.max(service.meanMs + overdue / samples, MIN_MEAN_MS);
  const added = (meanMs - service.meanMs) ** 2 + (meanMs / samples) ** 2;
  const variance = service.variance + added;
  // Work that changes does so all the time: over twice as many tasks by twice as much.
  const drift = Math.min((MAX_DRIFT * meanMs) ** 2, service.change * (turnovers / sortedMs.length) ** 2);
  return { ...service, meanMs, variance, error: service.error + added + drift, cv2: variance / meanMs ** 2 };
}

/**
 * The remaining time of a task that has been running for a while: that of the service times that were longer; if none was, as much as service
 * times vary.
 */
function residual(ageMs: number, { sortedMs, variance, meanMs }: Service): Rest {
  let [count, sum, squares] = [0, 0, 0];
  for (let n = sortedMs.length - 1; n >= 0; n -= 1) {
    const ms = (sortedMs[n] ?? 0) - ageMs;
    if (ms <= 0) break;
    count += 1;
    sum += ms;
    squares += ms ** 2;
  }
  if (count === 0) return { ms: variance / meanMs, variance: (variance / meanMs) ** 2 };
  const ms = sum / count;
  return { ms, variance: Math.max(0, squares / count - ms ** 2) };
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

/** Quantiles of the log-normal distribution of this mean and variance. */
function logNormal(meanMs: number, variance: number, leastMs: number): Forecast {
  const logVariance = Math.log1p(variance / meanMs ** 2);
  const median = Math.max(leastMs, meanMs / Math.exp(logVariance / 2));
  const factor = Math.exp(TURNOVERS_Z80 * Math.sqrt(logVariance));
  return { lowMs: median / factor, middleMs: median, highMs: median * factor };
}

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
