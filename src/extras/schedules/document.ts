import type { Engine } from "../../engine/engine.ts";
import { timestamp } from "../../wire/timestamp.ts";
import { type Definition, taskIdOf } from "./definition.ts";
import { DueTimes } from "./due-times.ts";
import type { ScheduleRow } from "./verbs.ts";
import type { Schedule } from "./wire.ts";

/** How many of the next due times are shown. */
const SHOWN = 5;

/** A schedule as it is shown. */
export function scheduleDocument(row: ScheduleRow, last: Schedule["last"], nowMs: number): Schedule {
  const { id, declared, orphan, paused, createdMs, afterMs } = row;
  const definition = JSON.parse(row.definition) as Definition;
  const times = new DueTimes(definition, createdMs);
  const next = paused || orphan ? [] : times.between(Math.max(nowMs, afterMs), Number.POSITIVE_INFINITY, SHOWN);
  const shown = { declared, orphan, next: next.map((ms) => timestamp(ms)), last };
  return { id, ...definition, paused, ...shown };
}

/** The latest due time of a schedule, and what became of it. */
export async function lastOf(engine: Engine, { id, last }: ScheduleRow): Promise<Schedule["last"]> {
  if (!last) return null;
  const task = taskIdOf(id, last.atMs);
  const { state } = last;
  const shown = state === "submitted" ? (await engine.inspector.inspect(task, { result: false }))?.state : state;
  return { id: task, at: timestamp(last.atMs), state: shown ?? null };
}
