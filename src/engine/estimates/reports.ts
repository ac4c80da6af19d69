import type { Pace } from "../../store/line/snapshot.ts";

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
