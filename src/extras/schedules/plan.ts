import type { Definition } from "./definition.ts";
import type { DueTimes } from "./due-times.ts";

/** Older due times are missed, ms. */
const MISSED_MS = 60_000;

/** How many missed due times are submitted at most. */
const MAX_MISSED = 1000;

/** What is known of a schedule when it is looked at. */
export interface Position {
  /** Due times up to this one are done with. */
  readonly afterMs: number;
  /** The due time that was refused for the moment, and until when it is tried again; null for none. */
  readonly retry: { readonly atMs: number; readonly untilMs: number } | null;
  /** When a time without any process ended. */
  readonly goneMs: number;
  readonly nowMs: number;
}

/** What is to be done about the due times of a schedule. */
export interface Plan {
  /** The due times to be submitted, in order. */
  readonly due: readonly number[];
  /** The latest one that is left out; null for none. */
  readonly leftOutMs: number | null;
  /** The first one that is not due yet; null if there is none. */
  readonly nextMs: number | null;
}

/** Decides which due times are submitted now. */
export function planOf(times: DueTimes, missed: Definition["missed"], position: Position): Plan {
  const { afterMs, retry, goneMs, nowMs } = position;
  const nextMs = times.after(Math.max(afterMs, nowMs));
  // What was refused for the moment is tried again until the next due time, however old it is by then.
  if (retry && nowMs < retry.untilMs) return { due: times.between(retry.atMs - 1, nowMs), leftOutMs: null, nextMs };
  const fromMs = retry ? Math.max(afterMs, retry.untilMs - 1) : afterMs;
  const missedToMs = Math.min(nowMs, Math.max(fromMs, nowMs - MISSED_MS, goneMs));
  const [old = null] = times.latest(fromMs, missedToMs, 1);
  const due = [
    ...(old === null || missed === "skip" ? [] : missed === "once" ? [old] : missedTimes(times, fromMs, missedToMs)),
    ...times.between(Math.max(fromMs, missedToMs), nowMs),
  ];
  return { due, leftOutMs: missed === "skip" ? old : null, nextMs };
}

/** Each missed due time, or the latest ones. Looking back takes much longer than forward. */
function missedTimes(times: DueTimes, fromMs: number, toMs: number): number[] {
  const all = times.between(fromMs, toMs, MAX_MISSED + 1);
  return all.length > MAX_MISSED ? times.latest(fromMs, toMs, MAX_MISSED) : all;
}
