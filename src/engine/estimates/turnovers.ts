import type { QueueSnapshot, SlotBatch } from "../../store/verbs/scripts.ts";

/** What a task waits for: how many slots must become free first, and for how long some of them have been busy. */
export interface Turnovers {
  readonly turnovers: number;
  readonly agesMs: readonly number[];
  /** How far off these may be, ms: a standard deviation. */
  readonly unsureMs: number;
  /** Whether it may start at once all the same, since some call may still wait for more tasks. */
  readonly perhapsNow: boolean;
}

/** By this share of the time over which its tasks were taken, the begin of a call is uncertain: as measured (test/shared/batch-line-simulation.ts). */
const UNSURE = 0.8;

type LineFigures = Pick<QueueSnapshot, "running" | "slots" | "agesMs" | "batch">;

/**
 * What a task with so many before it in line waits for; 0 turnovers or fewer: it starts at once. Where a slot has one call with several
 * tasks, the task waits for calls, not for the tasks in them, and it may also join a call that still waits for more.
 */
export function turnoversBefore(line: LineFigures, before: number): Turnovers {
  const { running, slots, agesMs, batch } = line;
  if (!batch) return { turnovers: before + running - slots + 1, agesMs, unsureMs: 0, perhapsNow: false };
  const calls = callsOf(line, batch);
  // While others wait, no slot has room, however few calls can be told apart; unless tasks have just been taken, and those are next.
  const full = before > 0 && !calls.waits;
  const room = full ? 0 : calls.room;
  const count = full ? Math.min(running, slots) : calls.count;
  const free = (slots - count) * batch.max + room;
  const turnovers = before < free ? 0 : Math.floor((before - free) / batch.max) + 1;
  const perhapsNow = running + before < slots * batch.max && calls.waits;
  return { turnovers, agesMs: calls.agesMs, unsureMs: calls.unsureMs, perhapsNow };
}

/** The calls that run. */
interface Calls {
  readonly count: number;
  /** Whether the latest waits for more tasks. */
  readonly waits: boolean;
  /** How many more tasks the one that waits for more takes. */
  readonly room: number;
  /** For how long they have run; not of all, if only some of the tasks are known. */
  readonly agesMs: readonly number[];
  readonly unsureMs: number;
}

/** Tasks of one call. */
interface Group {
  readonly oldestMs: number;
  youngestMs: number;
  tasks: number;
}

/**
 * The store knows tasks, not calls. Those of one call were taken within its wait and are at most so many; and each call begins with the last
 * task that joined it. The oldest come first, since a slot takes no others before its call is full or has waited.
 */
function callsOf({ running, slots, agesMs }: LineFigures, { max, waitMs }: SlotBatch): Calls {
  if (agesMs.length === 0) return { count: Math.min(running, slots), waits: false, room: 0, agesMs, unsureMs: 0 };
  const groups: Group[] = [];
  const known = agesMs.length / running;
  for (const age of [...agesMs].sort((a, b) => b - a)) {
    const last = groups.at(-1);
    if (last && age >= last.oldestMs - waitMs && last.tasks < max * known) {
      last.youngestMs = age;
      last.tasks += 1;
    } else groups.push({ oldestMs: age, youngestMs: age, tasks: 1 });
  }
  const spread = groups.reduce((sum, { oldestMs, youngestMs }) => sum + oldestMs - youngestMs, 0);
  const count = Math.min(slots, Math.max(groups.length, Math.ceil(running / max)));
  const latest = groups.at(-1);
  const waits = latest !== undefined && latest.oldestMs < waitMs;
  // The others have at most as many as they may.
  const tasks = latest ? Math.max(latest.tasks / known, running - (count - 1) * max) : max;
  return {
    count,
    waits,
    room: waits ? Math.max(0, Math.floor(max - tasks)) : 0,
    agesMs: groups.map(({ youngestMs }) => youngestMs),
    // Of a few tasks of several calls it is not certain which belong together.
    unsureMs: known < 1 && groups.length > 1 ? (UNSURE * spread) / groups.length : 0,
  };
}
