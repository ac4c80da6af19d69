import type { QueueSnapshot, SlotBatch } from "../../store/verbs/scripts.ts";

/** What a task waits for: how many slots must become free first, and for how long some of them have been busy. */
export interface Turnovers {
  readonly turnovers: number;
  readonly agesMs: readonly number[];
  /** The standard deviation of their error, ms. */
  readonly unsureMs: number;
  /** Whether it may start at once nevertheless, because a call may still be waiting for more tasks. */
  readonly perhapsNow: boolean;
}

/** How uncertain the start of a call is, as a share of the time over which its tasks were taken; measured by test/shared/batch-line-simulation.ts. */
const UNSURE = 0.8;

type LineFigures = Pick<QueueSnapshot, "running" | "slots" | "agesMs" | "batch">;

/**
 * What a task waits for, by the number of tasks before it in line; with 0 turnovers or fewer it starts at once. If a slot runs one call with
 * several tasks, the task waits for calls, not for the tasks in them, and it may join a call that still waits for more.
 */
export function turnoversBefore(line: LineFigures, before: number): Turnovers {
  const { running, slots, agesMs, batch } = line;
  if (!batch) return { turnovers: before + running - slots + 1, agesMs, unsureMs: 0, perhapsNow: false };
  const calls = callsOf(line, batch);
  // If tasks wait in line, every slot is full, even if fewer calls can be recognised; except just after tasks were taken.
  const full = before > 0 && !calls.waits;
  const room = full ? 0 : calls.room;
  const count = full ? Math.min(running, slots) : calls.count;
  const free = (slots - count) * batch.max + room;
  const turnovers = before < free ? 0 : Math.floor((before - free) / batch.max) + 1;
  const perhapsNow = running + before < slots * batch.max && calls.waits;
  return { turnovers, agesMs: calls.agesMs, unsureMs: calls.unsureMs, perhapsNow };
}

/** The running calls. */
interface Calls {
  readonly count: number;
  /** Whether the latest call still waits for more tasks. */
  readonly waits: boolean;
  /** How many more tasks that call takes. */
  readonly room: number;
  /** How long they have been running; some are missing if not all tasks are known. */
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
 * Groups tasks into calls, since the store only knows tasks. A call has at most `max` tasks, all taken within `waitMs`, and begins when the
 * last of them has joined. Starts with the oldest task, since a call is filled before the next one is.
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
  // All calls but the latest have at most `max` tasks.
  const tasks = latest ? Math.max(latest.tasks / known, running - (count - 1) * max) : max;
  return {
    count,
    waits,
    room: waits ? Math.max(0, Math.floor(max - tasks)) : 0,
    agesMs: groups.map(({ youngestMs }) => youngestMs),
    // If only some of the tasks are known, they may be grouped wrongly.
    unsureMs: known < 1 && groups.length > 1 ? (UNSURE * spread) / groups.length : 0,
  };
}
