import { Cron } from "croner";
import { parseDuration } from "../../config/duration.ts";
import type { MISSED } from "../../task.ts";
import { msOf } from "../../wire/document.ts";
import type { ScheduleBody } from "./wire.ts";

/** From what the due times of a schedule follow. */
export type Times = Pick<ScheduleBody, "cron" | "every" | "startAt" | "endAt"> & { readonly timeZone: string };

/** Ids name the second. */
const SECOND_MS = 1000;

/** When a schedule is due: whole seconds, the same in every process, whatever its clock says. */
export class DueTimes {
  readonly #pattern: Pattern;
  readonly #startMs: number;
  readonly #endMs: number;

  /** @param createdMs when the schedule was made, from which `every` counts unless it starts at a time */
  constructor({ cron, every, timeZone, startAt, endAt }: Times, createdMs: number) {
    this.#startMs = (startAt === undefined ? undefined : msOf(startAt)) ?? Number.NEGATIVE_INFINITY;
    this.#endMs = (endAt === undefined ? undefined : msOf(endAt)) ?? Number.POSITIVE_INFINITY;
    const everyMs = every === undefined ? undefined : parseDuration(every);
    const start = Math.max(this.#startMs, 0);
    this.#pattern =
      cron !== undefined
        ? cronPattern(cron, timeZone)
        : interval(everyMs ?? SECOND_MS, startAt === undefined ? Math.floor(createdMs / SECOND_MS) * SECOND_MS : start);
  }

  /** The first one behind a time; null if there is none. */
  after(ms: number): number | null {
    const next = this.#pattern.after(Math.max(ms, this.#startMs - 1));
    return next === null || next > this.#endMs ? null : next;
  }

  /** The first ones in a span, without its begin and with its end: at most so many. */
  between(fromMs: number, toMs: number, max = Number.POSITIVE_INFINITY): number[] {
    const found: number[] = [];
    for (let next = this.after(fromMs); next !== null && next <= toMs && found.length < max; next = this.after(next))
      found.push(next);
    return found;
  }

  /** The latest ones in a span, in their order: at most so many. */
  latest(fromMs: number, toMs: number, max: number): number[] {
    const from = Math.max(fromMs, this.#startMs - 1);
    return this.#pattern.until(Math.min(toMs, this.#endMs), max).filter((ms) => ms > from);
  }
}

/** Times without a beginning or an end. */
interface Pattern {
  after(ms: number): number | null;
  /** The latest ones up to a time, in their order. */
  until(ms: number, max: number): number[];
}

function interval(everyMs: number, baseMs: number): Pattern {
  const base = Math.ceil(baseMs / SECOND_MS) * SECOND_MS;
  return {
    after: (ms) => base + (Math.floor((ms - base) / everyMs) + 1) * everyMs,
    until: (ms, max) => {
      const last = base + Math.floor((ms - base) / everyMs) * everyMs;
      return Array.from({ length: max }, (_, n) => last - (max - 1 - n) * everyMs);
    },
  };
}

/** A cron pattern in a time zone, as croner reads it. @throws Error if it is no pattern of five or six fields, or the zone is unknown */
function cronPattern(pattern: string, timezone: string): Pattern {
  const cron = new Cron(pattern, { timezone, mode: "5-or-6-parts", paused: true });
  return {
    after: (ms) => cron.nextRun(new Date(Math.max(0, ms)))?.getTime() ?? null,
    until: (ms, max) =>
      // It looks for times before a second.
      cron
        .previousRuns(max, new Date((Math.floor(ms / SECOND_MS) + 1) * SECOND_MS))
        .map((run) => run.getTime())
        .reverse(),
  };
}

/** Whether a cron pattern can be read, and matches any time at all. */
export function isCron(pattern: string): boolean {
  // croner also takes a single time in place of a pattern.
  if (!/[\s@]/.test(pattern)) return false;
  try {
    return cronPattern(pattern, "UTC").after(0) !== null;
  } catch {
    return false;
  }
}

/** Whether a time zone is known here. */
export function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat("en", { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

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
export interface DueNow {
  /** The due times to be submitted, in order. */
  readonly due: readonly number[];
  /** The latest one that is left out; null for none. */
  readonly leftOutMs: number | null;
  /** Those that were missed and are not submitted any more, the latest ones, in order. */
  readonly missedMs: readonly number[];
  /** The first one that is not due yet; null if there is none. */
  readonly nextMs: number | null;
}

/** Decides which due times are submitted now. */
export function dueNow(times: DueTimes, missed: (typeof MISSED)[number], position: Position): DueNow {
  const { afterMs, retry, goneMs, nowMs } = position;
  const nextMs = times.after(Math.max(afterMs, nowMs));
  // What was refused for the moment is tried again until the next due time, however old it is by then.
  if (retry && nowMs < retry.untilMs)
    return { due: times.between(retry.atMs - 1, nowMs), leftOutMs: null, missedMs: [], nextMs };
  const fromMs = retry ? Math.max(afterMs, retry.untilMs - 1) : afterMs;
  const missedToMs = Math.min(nowMs, Math.max(fromMs, nowMs - MISSED_MS, goneMs));
  const [old = null] = times.latest(fromMs, missedToMs, 1);
  const due = [
    ...(old === null || missed === "skip" ? [] : missed === "once" ? [old] : missedTimes(times, fromMs, missedToMs)),
    ...times.between(Math.max(fromMs, missedToMs), nowMs),
  ];
  const all = old === null || missed === "all" ? [] : times.latest(fromMs, missedToMs, MAX_TOLD + 1);
  const missedMs = missed === "once" ? all.slice(0, -1) : all.slice(-MAX_TOLD);
  return { due, leftOutMs: missed === "skip" ? old : null, missedMs, nextMs };
}

/** How many missed due times are told of, the latest. */
const MAX_TOLD = 20;

/** Each missed due time, or the latest ones. Looking back takes much longer than forward. */
function missedTimes(times: DueTimes, fromMs: number, toMs: number): number[] {
  const all = times.between(fromMs, toMs, MAX_MISSED + 1);
  return all.length > MAX_MISSED ? times.latest(fromMs, toMs, MAX_MISSED) : all;
}
