import { SHARED } from "../../store/constants.ts";
import type { Pace, QueueSnapshot } from "../../store/verbs/snapshot.ts";

/** From so many service times on, the progress of running tasks adds nothing to them. */
const ENOUGH = SHARED.forecastBlocks[0];
/** The error of a reported progress, as a share of the whole run, at 1/e of it: work is seldom even. */
const UNEVEN = 0.25;

/** What the time of a task that is still to start depends on. */
export type ServiceFigures = Pick<QueueSnapshot, "samples" | "misses" | "slowMeanMs" | "slowMisses"> & {
  readonly meanMs: number;
  readonly variance: number;
};

/**
 * The service times of a queue. As long as few tasks have ended, those that run and report their progress count as well; where none has ended,
 * they are all there is. Null if nothing is known.
 */
export function serviceFigures(snapshot: QueueSnapshot): ServiceFigures | null {
  const { meanMs, variance, samples, misses, slowMeanMs, slowMisses } = snapshot;
  const totals = samples < ENOUGH ? (snapshot.reports ?? []).flatMap((report) => report?.totalMs || []) : [];
  const ended = meanMs === null || variance === null ? 0 : samples;
  const count = ended + totals.length;
  if (count === 0) return null;
  const further = { misses, slowMeanMs, slowMisses };
  const own = { meanMs: meanMs ?? 0, variance: variance ?? 0 };
  if (totals.length === 0) return { ...further, ...own, samples };
  const mean = (ended * own.meanMs + totals.reduce((sum, ms) => sum + ms, 0)) / count;
  const squares = totals.reduce((sum, ms) => sum + (ms - mean) ** 2, 0);
  const pooled = (ended * (own.variance + (own.meanMs - mean) ** 2) + squares) / count;
  // The few that run together vary less than their distribution.
  return { ...further, meanMs: mean, variance: pooled + (mean ** 2 * totals.length) / count ** 2, samples: count };
}

/** How long a running task will still take. */
export interface Rest {
  readonly ms: number;
  readonly variance: number;
}

/** The rest of a running task by its own report; null without one. */
export function reportedRest(report: Pace | null | undefined, ageMs: number): Rest | null {
  if (!report || report.totalMs <= 0) return null;
  const { percent, totalMs } = report;
  const error = UNEVEN * Math.max(0.05, -Math.log(Math.min(1, percent / 100)));
  // A report is out of date after a while: then the task takes longer than it says.
  const ms = Math.max(totalMs - ageMs, (ageMs * error) / 2);
  return { ms, variance: (error * totalMs) ** 2 };
}

/** Both are estimates of the same rest: the more certain one counts more. */
export function combined(a: Rest, b: Rest): Rest {
  const share = a.variance / Math.max(a.variance + b.variance, Number.MIN_VALUE);
  return { ms: a.ms + share * (b.ms - a.ms), variance: (1 - share) * a.variance };
}
