import { named, names, verb, verbOnOne, word, written } from "../../store/verbs/codec.ts";
import { list, number, optional, type Reply, text } from "../../store/verbs/reply.ts";

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

/** A schedule as returned by schedule.lua. Times are ms; null if there are none. */
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
  /** The task submitted last for a due time; "" for none. */
  readonly task: string;
  /** Until when the last one, which was refused for the moment, is tried again; 0 for no end; null if it is not. */
  readonly retryUntilMs: number | null;
  /** Until when nobody else looks at it. */
  readonly heldMs: number;
}

/** What became of a due time. */
export type DueState = "submitted" | "skipped" | "refused";

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
  /** Those to which it can submit: JSON. */
  readonly queues: string;
}

const ROW = [
  ...(["id", "definition", "declared", "orphan", "paused", "created", "revision", "after"] as const),
  ...(["at", "state", "task", "retryUntil", "held"] as const),
] as const;
const PAGE = ["nowMs", "more", "rows"] as const;
const TICK_ARGS = names<TickArgs>("max", "skip", "livedMs", "queues");
const TICK = ["nowMs", "goneMs", "nextMs", "lateMs", "skip", "unknown", "rows"] as const;
const RANGE = names<{ readonly min: string; readonly max: string; readonly limit: number }>("min", "max", "limit");

/** Stores a schedule. */
export const putSchedule = verbOnOne<StoredSchedule, "new" | "changed" | "same" | "declared" | "stale">([
  ...(["id", "definition", "queue", "times", "paused", "declared", "revision"] as const),
]);

/** Deletes a schedule. */
export const deleteSchedule = verbOnOne<
  { readonly id: string; readonly revision?: number | undefined },
  "deleted" | "unknown" | "declared" | "stale"
>(["id", "revision"]);

/** Reads schedules in the order of their ids, fewer if they are long; `min` and `max` as in ZRANGEBYLEX. */
export const schedules = verb({
  layout: { args: RANGE, answer: PAGE, row: ROW },
  write: (range: { min: string; max: string; limit: number }) => written(RANGE, range),
  read: (reply) => {
    const { nowMs, more, rows } = named(PAGE, reply);
    return { nowMs: number(nowMs), more: text(more) === "1", rows: list(rows).map(rowOf) };
  },
});

/** Says which schedules this process declares, and takes those that are due. */
export const tickSchedules = verb({
  layout: { args: TICK_ARGS, item: ["id"], answer: TICK },
  write: (args: TickArgs, declared: readonly string[]) => [...written(TICK_ARGS, args), declared.length, ...declared],
  read: (reply) => {
    const { nowMs, goneMs, nextMs, lateMs, skip, unknown, rows } = named(TICK, reply);
    return {
      nowMs: number(nowMs),
      /** When a time without any process ended, 0 for never. */
      goneMs: number(goneMs),
      /** When one is due next, or can be looked at. */
      nextMs: optional(nextMs),
      /** For how long the first due time has waited. */
      lateMs: number(lateMs),
      /** How many due schedules the next call leaves out. */
      skip: number(skip),
      /** Those that the store does not have. */
      unknown: list(unknown).map(text),
      rows: list(rows).map(rowOf),
    };
  },
});

/** Notes what a look has done; until when it still holds the schedule, 0 if it does not. */
export const stepSchedule = verbOnOne<Step, number>(
  ["id", "heldMs", "afterMs", "atMs", "state", "task", "nextMs", "retryUntilMs", "holdMs"],
  number,
);

function rowOf(reply: Reply): ScheduleRow {
  const of = named(ROW, reply);
  return {
    id: text(of.id),
    definition: text(of.definition),
    declared: text(of.declared) === "1",
    orphan: text(of.orphan) === "1",
    paused: text(of.paused) === "1",
    createdMs: number(of.created),
    revision: number(of.revision),
    afterMs: number(of.after),
    last: text(of.at) === "" ? null : { atMs: number(of.at), state: word(of.state) },
    task: text(of.task),
    retryUntilMs: optional(of.retryUntil),
    heldMs: number(of.held),
  };
}
