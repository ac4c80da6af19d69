import type { QueueSnapshot, SlotBatch } from "../../store/line/snapshot.ts";
import { type Rest, reportedRest } from "./service-figures.ts";

/** What a task waits for: how many slots must become free first, and for how long some of them have been busy. */
export interface Turnovers {
  readonly turnovers: number;
  readonly agesMs: readonly number[];
  /** What these have reported about how long they will still take; null for nothing. */
  readonly reported: readonly (Rest | null)[];
  /** The standard deviation of the error of the ages, ms. */
  readonly unsureMs: number;
  /** Whether it may start at once nevertheless, because a call may still be waiting for more tasks. */
  readonly perhapsNow: boolean;
}

/** How uncertain the start of a call is, as a share of the time over which its tasks were taken: as measured in a simulated line. */
const UNSURE = 0.8;

type LineFigures = Pick<QueueSnapshot, "running" | "slots" | "agesMs" | "reports" | "batch">;

/**
 * What a task waits for, by the number of tasks before it in line; with 0 turnovers or fewer it starts at once. If a slot runs one call with
 * several tasks, the task waits for calls, not for the tasks in them, and it may join a call that still waits for more.
 * @param held whether the line waits for something other than slots, so that these may be free although tasks wait
 */
export function turnoversBefore(line: LineFigures, before: number, held = false): Turnovers {
  const { running, slots, agesMs, batch } = line;
  const rests = agesMs.map((age, n) => reportedRest(line.reports?.[n], age));
  if (!batch) {
    const ages = [...agesMs, ...freshAges(agesMs.length, running, slots)];
    return { turnovers: before + running - slots + 1, agesMs: ages, reported: rests, unsureMs: 0, perhapsNow: false };
  }
  const calls = callsOf(line, batch, rests);
  // If tasks wait in line, every slot is full, even if fewer calls can be recognised; except just after tasks were taken.
  const full = before > 0 && !calls.waits && !held;
  const room = full ? 0 : calls.room;
  const count = full ? Math.min(running, slots) : calls.count;
  const free = (slots - count) * batch.max + room;
  const turnovers = before < free ? 0 : Math.floor((before - free) / batch.max) + 1;
  const perhapsNow = running + before < slots * batch.max && calls.waits;
  const ages = [...calls.agesMs, ...freshAges(calls.agesMs.length, count, slots)];
  return { turnovers, agesMs: ages, reported: calls.reported, unsureMs: calls.unsureMs, perhapsNow };
}

/** How many slots a forecast takes into account. */
const AGES = 16;

/** The ages of what free slots are just about to run, if the ages of that many of the running tasks are known. */
function freshAges(known: number, running: number, slots: number): number[] {
  const free = Math.max(0, slots - running);
  if (running > 0 && known === 0) return [];
  const share = running === 0 ? Math.min(1, AGES / Math.max(1, free)) : known / running;
  return Array(Math.min(AGES, Math.round(free * share))).fill(0);
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
  readonly reported: readonly (Rest | null)[];
  readonly unsureMs: number;
}

/** Tasks of one call. */
interface Group {
  readonly oldestMs: number;
  youngestMs: number;
  tasks: number;
  /** The longest of its tasks, by what they report. */
  rest: Rest | null;
}

/**
 * Groups tasks into calls, since the store only knows tasks. A call has at most `max` tasks, all taken within `waitMs`, and begins when the
 * last of them has joined. Starts with the oldest task, since a call is filled before the next one is.
 */
function callsOf(
  { running, slots, agesMs }: LineFigures,
  { max, waitMs }: SlotBatch,
  rests: readonly (Rest | null)[],
): Calls {
  if (agesMs.length === 0) {
    return { count: Math.min(running, slots), waits: false, room: 0, agesMs, reported: [], unsureMs: 0 };
  }
  const groups: Group[] = [];
  const known = agesMs.length / running;
  const byAge = agesMs.map((age, n) => ({ age, rest: rests[n] ?? null })).sort((a, b) => b.age - a.age);
  for (const { age, rest } of byAge) {
    const last = groups.at(-1);
    if (last && age >= last.oldestMs - waitMs && last.tasks < max * known) {
      last.youngestMs = age;
      last.tasks += 1;
      if (rest && (!last.rest || rest.ms > last.rest.ms)) last.rest = rest;
    } else groups.push({ oldestMs: age, youngestMs: age, tasks: 1, rest });
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
    reported: groups.map(({ rest }) => rest),
    // If only some of the tasks are known, they may be grouped wrongly.
    unsureMs: known < 1 && groups.length > 1 ? (UNSURE * spread) / groups.length : 0,
  };
}

/** Steps in which the number of lines is searched. */
const STEPS = 40;

/** What is known of a line with limits per key. */
interface KeyedLine {
  /** How many tasks are before the one in question, and how many of these may start now. */
  readonly index: number;
  readonly startable: number;
  readonly running: number;
  /** How many tasks run at once. */
  readonly atOnce: number;
  /** How many tasks of one key run at once. */
  readonly limit: number;
  /** Which share of the waiting tasks has the most frequent key. */
  readonly mostFrequent: number;
}

/** A key with a larger share of the line is looked at by itself. */
const FLOOD = 0.5;

/**
 * How many of the tasks before one will start before it. Those that wait for their key start as the tasks of that key end, and then come first.
 * The task in question overtakes them only when fewer keys than slots are left before it: so it overtakes the more, the fewer keys there are.
 * Assumes that the tasks are spread evenly over keys: as many of these as make the number of tasks that run or may start what it is. A key with
 * most of the line is left out with the slots that it keeps busy.
 */
export function startsBefore(line: KeyedLine): number {
  const { index, startable, running, atOnce, limit, mostFrequent } = line;
  const others = Math.max(1, atOnce - limit);
  if (mostFrequent < FLOOD || others === atOnce || atOnce <= limit) return evenly(line);
  const left = {
    index: Math.round(index * (1 - mostFrequent)),
    startable,
    running: Math.max(0, running - limit),
    atOnce: others,
  };
  const turnovers = evenly({ ...left, index: Math.max(left.index, startable) }) + left.running - others + 1;
  // As many turnovers of all slots take as long.
  return Math.max(startable, Math.round((turnovers * atOnce) / others) - running + atOnce - 1);
}

function evenly({ index, startable, running, atOnce }: Omit<KeyedLine, "limit" | "mostFrequent">): number {
  const taken = atOnce - 1;
  if (startable >= index || running + startable <= taken) return startable;
  const keys = keysOf(index + running, running + startable);
  if (keys <= taken) return startable;
  // Of so many tasks, just as many may start as there are slots for.
  const left = Number.isFinite(keys) ? -keys * Math.log(1 - taken / keys) : taken;
  return Math.max(startable, Math.round(index + taken - left));
}

/** Of how many keys so many tasks are, if so many of these keys occur. */
function keysOf(tasks: number, found: number): number {
  if (found >= tasks) return Number.POSITIVE_INFINITY;
  let [few, many] = [found, found];
  const foundOf = (keys: number) => keys * (1 - Math.exp(-tasks / keys));
  while (foundOf(many) < found - 1e-9 && many < 1e12) many *= 2;
  for (let n = 0; n < STEPS; n += 1) {
    const middle = (few + many) / 2;
    if (foundOf(middle) < found) few = middle;
    else many = middle;
  }
  return many;
}
