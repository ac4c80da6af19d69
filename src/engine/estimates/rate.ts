import type { LineRate } from "../../store/line/snapshot.ts";
import { type Forecast, Z80 } from "./forecast.ts";

/** By how much a start comes later than the rate allows it, ms: on average, and the variance of that. */
export interface Lag {
  readonly meanMs: number;
  readonly variance: number;
  /** How far the whole wait may be off, as a share of it, since the service times are not known exactly. */
  readonly unsure: number;
}

/** As workers wait on timers. */
export const TIMERS: Lag = { meanMs: 4, variance: 16, unsure: 0 };

/** What the lag depends on. */
interface Busyness {
  readonly meanMs: number;
  readonly variance: number;
  readonly samples: number;
  readonly slots: number;
  /** How many tasks a slot takes in one call. */
  readonly batch: number;
}

/**
 * Where tasks take so long that the rate keeps most slots busy, all of them are busy now and then when it would allow a start. As the rate counts
 * from the starts, that time is lost. Such a system of permits and slots has a known throughput if service times are exponential
 * (A. K. Erlang); the more even they are, the less is lost.
 */
export function lagOf({ max, perMs }: LineRate, { meanMs, variance, samples, slots, batch }: Busyness): Lag {
  const calls = max / Math.min(max, batch);
  const load = (meanMs * calls) / perMs;
  const share = load / slots;
  const uneven = Math.min(1, variance / Math.max(meanMs, 0.001) ** 2);
  let full = 1;
  // Slots beyond these are hardly ever all busy together by chance.
  const counted = Math.min(slots, MOST_SLOTS);
  for (let n = 1; n <= counted; n += 1) full = (load * full) / (n + load * full);
  const queued = share === 1 ? calls : (share * (1 - share ** calls)) / (1 - share);
  const lost = (full * share ** calls) / (1 + full * queued);
  const waits = share >= 1 ? 1 : full / (1 - share * (1 - full));
  return {
    meanMs: TIMERS.meanMs + uneven * perMs * (lost / Math.max(1 - lost, 0.01)),
    variance: TIMERS.variance + 2 * uneven * waits * (meanMs / slots) ** 2,
    unsure: waits * Math.sqrt(uneven / Math.max(1, Math.min(samples, ENOUGH))),
  };
}

const MOST_SLOTS = 1000;
/** More service times than this do not make their mean more certain. */
const ENOUGH = 40;

const AT_ONCE: Forecast = { lowMs: 0, middleMs: 0, highMs: 0 };

/**
 * When the rate lets a task start that comes after `before` others, fewer than the rate allows: it takes the place of the start `max` before it,
 * once the span since that one is over.
 */
export function forecastRate({ max, perMs, starts }: LineRate, before: number, lag: Lag): Forecast {
  const { ageMs, unsureMs } = ageOf(starts, max - 1 - before);
  const waitMs = Math.max(0, perMs - ageMs);
  if (waitMs === 0) return AT_ONCE;
  return delayed(AT_ONCE, waitMs, 1, { ...lag, variance: lag.variance + unsureMs ** 2 });
}

/** When the task starts that comes so many rounds of a rate after another one. */
export function laterRounds({ perMs }: LineRate, first: Forecast, rounds: number, lag: Lag): Forecast {
  return rounds === 0 ? first : delayed(first, rounds * perMs, rounds, lag);
}

function delayed({ lowMs, middleMs, highMs }: Forecast, ms: number, waits: number, each: Lag): Forecast {
  const lagMs = waits * each.meanMs;
  const middle = middleMs + ms + lagMs;
  const spreadMs = Z80 * Math.hypot(Math.sqrt(waits * each.variance), ms * each.unsure);
  return {
    lowMs: middle - Math.hypot(middleMs - lowMs, spreadMs),
    middleMs: middle,
    highMs: middle + Math.hypot(highMs - middleMs, spreadMs),
  };
}

/** The same rate a while later, if nothing starts until then. */
export function rateAfter({ max, perMs, starts }: LineRate, ms: number): LineRate {
  const later = starts.map(({ nth, ageMs }) => ({ nth, ageMs: ageMs + ms }));
  return { max, perMs, starts: later.filter(({ ageMs }) => ageMs < perMs) };
}

/** How long ago the nth latest start was, from the nearest known ones, and how unsure that is; infinity if it is not within the span. */
function ageOf(starts: LineRate["starts"], nth: number): { readonly ageMs: number; readonly unsureMs: number } {
  const after = starts.findIndex((start) => start.nth >= nth);
  const [later, earlier] = [starts[after - 1], starts[after]];
  if (!earlier) return { ageMs: Number.POSITIVE_INFINITY, unsureMs: 0 };
  if (!later || earlier.nth === nth) return { ageMs: earlier.ageMs, unsureMs: 0 };
  const betweenMs = earlier.ageMs - later.ageMs;
  return {
    ageMs: later.ageMs + (betweenMs * (nth - later.nth)) / (earlier.nth - later.nth),
    unsureMs: betweenMs / 4,
  };
}
