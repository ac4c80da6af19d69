import { jsonVerb } from "../../store/library/verb.ts";
import type { Outcome } from "../../task.ts";

/** A schedule to be stored. */
interface StoredSchedule {
  readonly id: string;
  /** JSON. */
  readonly definition: string;
  readonly queue: string;
  /** The part of it from which its due times follow. */
  readonly times: string;
  readonly paused: boolean;
  /** By a handler, which leaves it paused if it is. */
  readonly declared: boolean;
  /** Which one it replaces, 0 for none; undefined: whichever. */
  readonly revision?: number | undefined;
}

/** A schedule as returned by verbs.lua. Times are ms; null if there are none. */
export interface ScheduleRow {
  readonly id: string;
  readonly definition: string;
  readonly declared: boolean;
  readonly orphan: boolean;
  readonly paused: boolean;
  readonly createdMs: number;
  /** Another one with every change. */
  readonly revision: number;
  /** The latest due time that is done with. */
  readonly afterMs: number;
  /** The latest due time that was submitted, skipped or refused. */
  readonly last: { readonly atMs: number; readonly state: DueState } | null;
  /** The latest due times, newest first. */
  readonly history: readonly PastTime[];
  /** The task submitted last for a due time; "" for none. */
  readonly task: string;
  /** Until when the last one, which was refused for the moment, is tried again; 0 for no end; null if it is not. */
  readonly retryUntilMs: number | null;
  /** Until when nobody else looks at it. */
  readonly heldMs: number;
}

/** What became of a due time: `skipped`, since the task of before had not ended; `missed`, since nobody could submit it in time. */
export type DueState = "submitted" | "skipped" | "missed" | "refused";

/** What became of a due time, later also of its task. */
export interface PastTime {
  readonly atMs: number;
  readonly state: DueState | Outcome;
}

/** What a look has done with a due time, and when the schedule is due next. */
interface Step {
  readonly id: string;
  /** As the look has got it. */
  readonly heldMs: number;
  /** Due times up to this one are done with. */
  readonly afterMs: number;
  /** Null if there was no due time. */
  readonly atMs: number | null;
  readonly state: DueState | "";
  /** The task that was submitted, "" for none. */
  readonly task: string;
  /** Due times before that were missed, the latest ones, the oldest first. */
  readonly missedMs: readonly number[];
  /** Null for none. */
  readonly nextMs: number | null;
  readonly retryUntilMs: number | null;
  /** For how long nobody else looks at it; 0: it can be looked at. */
  readonly holdMs: number;
}

/** What a process asks of a tick. */
export interface TickArgs {
  /** How many schedules it takes at most. */
  readonly max: number;
  /** How many due ones it has looked at before. */
  readonly skip: number;
  /** For how long it has lived. */
  readonly livedMs: number;
  /** Those to which it can submit. */
  readonly queues: readonly string[];
  /** The schedules that it declares. */
  readonly declared: readonly string[];
}

/** What a tick has found, and the schedules that are due. */
export interface TickedSchedules {
  readonly nowMs: number;
  /** When a time without any process ended, 0 for never. */
  readonly goneMs: number;
  /** When one is due next, or can be looked at. */
  readonly nextMs: number | null;
  /** For how long the first due time has waited. */
  readonly lateMs: number;
  /** How many due schedules the next call leaves out. */
  readonly skip: number;
  /** Those that the store does not have. */
  readonly unknown: readonly string[];
  readonly rows: readonly ScheduleRow[];
}

/** Which schedules are read, see ZRANGEBYLEX. */
interface ScheduleRange {
  readonly min: string;
  readonly max: string;
  readonly limit: number;
}
export interface SchedulePage {
  readonly nowMs: number;
  readonly more: boolean;
  readonly rows: readonly ScheduleRow[];
}

/** Stores a schedule. */
export const putSchedule = jsonVerb<StoredSchedule, "new" | "changed" | "same" | "declared" | "stale">();

/** Deletes a schedule. */
export const deleteSchedule = jsonVerb<
  { readonly id: string; readonly revision?: number | undefined },
  "deleted" | "unknown" | "declared" | "stale"
>();

/** Reads schedules in the order of their ids, fewer if they are long. */
export const schedules = jsonVerb<ScheduleRange, SchedulePage>();

/** Says which schedules this process declares, and takes those that are due. */
export const tickSchedules = jsonVerb<TickArgs, TickedSchedules>();

/** Notes what a look has done; until when it still holds the schedule, 0 if it does not. */
export const stepSchedule = jsonVerb<Step, number>();

/** A due time whose task has not ended, as far as is known. */
export interface OpenRun {
  readonly id: string;
  readonly atMs: number;
}

/** Takes some due times whose tasks may have ended since: nobody else looks at these for a while. */
export const openRuns = jsonVerb<{ readonly limit: number }, readonly OpenRun[]>();

/** Notes how the task of a due time has ended; null if it is not known any more. */
export const endRun = jsonVerb<OpenRun & { readonly state: Outcome | null }, null>();

/** The schedules whose latest due times were missed or refused in the last hour. */
export const missedSchedules = jsonVerb<
  object,
  readonly {
    readonly id: string;
    readonly queue: string;
    readonly state: DueState;
    /** How many were missed last, at most 20; 0 if it was refused. */
    readonly missed: number;
    /** The latest of them. */
    readonly atMs: number;
  }[]
>();
