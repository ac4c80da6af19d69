import { SHARED } from "../../store/constants.ts";
import type { Pace, QueueSnapshot } from "../../store/line/snapshot.ts";

/** From so many service times on, the progress of running tasks adds nothing to them, and their halves are compared. */
const ENOUGH = SHARED.window / 4;
/** The share of the window that is the quickest. */
const QUICKEST = 0.1;

/** What the latest service times of a queue tell about the next ones. Times are in ms. */
export interface ServiceFigures {
  /** How many there were. */
  readonly samples: number;
  /** The latest of them, the shortest first. */
  readonly sortedMs: readonly number[];
  readonly meanMs: number;
  readonly variance: number;
  /** The mean square error of the mean, if the work does not change. */
  readonly error: number;
  /** By how much the work may have changed between the two halves of the window: a mean square. */
  readonly change: number;
  /** The longest of the quickest tenth. */
  readonly quickestMs: number;
}

/** What a snapshot tells of the service times of its queue. */
export type ServiceTimes = Pick<QueueSnapshot, "samples" | "timesMs" | "reports">;

/** Between two ends all snapshots have the same times. */
const known = new WeakMap<readonly number[], ServiceFigures>();

/**
 * The service times of a queue. As long as few tasks have ended, those that run and report their progress count as well; where none has ended,
 * they are all there is. Null if nothing is known.
 */
export function serviceFigures({ samples, timesMs, reports = [] }: ServiceTimes): ServiceFigures | null {
  const totals = samples < ENOUGH ? reports.flatMap((report) => report?.totalMs || []) : [];
  if (totals.length > 0) return figuresOf([...timesMs, ...totals], samples + totals.length);
  if (timesMs.length === 0) return null;
  const figures = known.get(timesMs) ?? figuresOf(timesMs, samples);
  known.set(timesMs, figures);
  return figures;
}

/** The mean service time of tasks that have ended, ms; null if there is none. */
export const meanOfEnded = ({ samples, timesMs }: ServiceTimes): number | null =>
  serviceFigures({ samples, timesMs })?.meanMs ?? null;

/**
 * If the later half differs from the earlier one by more than chance explains, the work has changed: then the later half counts more, the more
 * certain that is.
 * @param timesMs the oldest first, at least one
 */
export function figuresOf(timesMs: readonly number[], samples = timesMs.length): ServiceFigures {
  const sortedMs = [...timesMs].sort((a, b) => a - b);
  const quickestMs = sortedMs[Math.floor(QUICKEST * sortedMs.length)] ?? 0;
  const all = momentsOf(timesMs);
  const common = { samples, sortedMs, quickestMs };
  if (timesMs.length < ENOUGH)
    return { ...common, ...all, error: all.variance / timesMs.length, change: (4 * all.variance) / timesMs.length };
  const half = timesMs.length >> 1;
  const [earlier, later] = [momentsOf(timesMs.slice(0, half)), momentsOf(timesMs.slice(half))];
  const chance = (earlier.variance + later.variance) / half;
  const seen = (later.meanMs - earlier.meanMs) ** 2;
  const beyond = Math.max(0, seen - chance);
  const share = beyond / Math.max(beyond + chance, Number.MIN_VALUE);
  const variance = all.variance + share * (later.variance - all.variance);
  return {
    ...common,
    meanMs: all.meanMs + share * (later.meanMs - all.meanMs),
    variance,
    error: variance / (timesMs.length - share * half),
    // Chance may also have hidden some of it.
    change: seen + chance,
  };
}

function momentsOf(timesMs: readonly number[]): { readonly meanMs: number; readonly variance: number } {
  const meanMs = timesMs.reduce((sum, ms) => sum + ms, 0) / timesMs.length;
  return { meanMs, variance: timesMs.reduce((sum, ms) => sum + (ms - meanMs) ** 2, 0) / timesMs.length };
}

/** The error of a reported progress, as a share of the whole run, at 1/e of it: work is seldom even. */
const UNEVEN = 0.25;

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
