import { list, named, number, optional, type Reply, text } from "../library/verb.ts";

/** How many tasks one call of a handler gets at most, and for how long it waits for more. */
export interface SlotBatch {
  readonly max: number;
  readonly waitMs: number;
}

/** For a queue without a worker: the figures of how long one takes to start. Times are in ms. */
export interface WorkerStart {
  /** How long there has been work in line and no worker; 0 without work. */
  readonly elapsedMs: number;
  /** How long a start takes according to the handler; null if it does not say. */
  readonly declaredMs: number | null;
  /** The starts so far: exponentially weighted mean and variance, and their number. */
  readonly meanMs: number;
  readonly variance: number;
  readonly samples: number;
  /** The slots of the worker that started last, or those that the handler declares; at least 1. */
  readonly slots: number;
}

/** How many tasks of a queue may start in a span, over all its workers; and its latest starts within that span, some of them if there are many. */
export interface LineRate {
  readonly max: number;
  readonly perMs: number;
  /** From the newest on: the how-manieth it is, from 0, and how long ago it was, ms. */
  readonly starts: readonly { readonly nth: number; readonly ageMs: number }[];
}

/** What a running task has reported. */
export interface Pace {
  readonly percent: number;
  /** How long its whole run takes at that pace, ms; 0 if unknown. */
  readonly totalMs: number;
}

/** The figures of a queue at one instant, as returned by line/snapshot.lua. */
export interface QueueSnapshot {
  readonly queue: string;
  readonly waiting: number;
  readonly scheduled: number;
  /** How many of the waiting tasks may start; left out if the queue is not keyed, since then all may. */
  readonly startable?: number;
  /** Of a keyed queue with held tasks: which share of the waiting tasks has the most frequent key, by a few of them. */
  readonly mostFrequent?: number;
  readonly running: number;
  readonly paused: boolean;
  /** Whether its gate lets nothing through. */
  readonly resting: boolean;
  readonly workers: number;
  /** Slots of all live workers. */
  readonly slots: number;
  /** Left out or null if there is a worker, or if it is unknown how long one takes to start. */
  readonly starting?: WorkerStart | null;
  /** Only if a slot runs one call with several tasks. */
  readonly batch?: SlotBatch;
  /** Only if its handler declares a rate. */
  readonly rate?: LineRate;
  /** How many service times there were. */
  readonly samples: number;
  /** The latest of them, the oldest first, ms. Snapshots with the same times share the list. */
  readonly timesMs: readonly number[];
  /** How long some of the running tasks have been running, ms; empty while every task may have a slot, unless the queue is keyed. */
  readonly agesMs: readonly number[];
  /** What these tasks have reported, in the same order, null for nothing; left out if none has. */
  readonly reports?: readonly (Pace | null)[];
}

/** What the start of a waiting task in a keyed line depends on. */
export interface KeyTurn {
  /** How many tasks that may start come before it. */
  readonly before: number;
  /** How many tasks of its line key must end before it may start. */
  readonly ends: number;
  /** How many of these run at once. */
  readonly limit: number;
}

/** Reads the words of line/keyed.lua; null if there are none. */
export function keyTurn(words: readonly string[]): KeyTurn | null {
  const [before, ends, limit] = words;
  if (limit === undefined) return null;
  return { before: Number(before), ends: Number(ends), limit: Number(limit) };
}

const QUEUE = ["queue", "paused", "resting"] as const;
const COUNTS = ["waiting", "scheduled", "running", "workers", "slots"] as const;
/** The service times; the rate; how long some tasks have been running; and for a keyed queue, how many may start. */
const TIMES = ["service", "rate", "ages", "startable"] as const;
export const SNAPSHOT = [...QUEUE, ...COUNTS, ...TIMES, "starting"] as const;

/** Parses the reply of line/snapshot.lua. */
export function snapshotOf(reply: Reply | undefined): QueueSnapshot {
  const of = named(SNAPSHOT, reply);
  const slots = text(of.slots);
  const ages = list(of.ages).map((words) => text(words).split(" "));
  const rate = text(of.rate);
  const batchAt = slots.indexOf(" ");
  const snapshot: QueueSnapshot = {
    queue: text(of.queue),
    waiting: number(of.waiting),
    scheduled: number(of.scheduled),
    running: number(of.running),
    paused: text(of.paused) === "1",
    resting: text(of.resting) === "1",
    workers: number(of.workers),
    slots: Number.parseInt(slots, 10),
    ...serviceTimesOf(text(of.service)),
    agesMs: ages.map(([age]) => Number(age)),
  };
  const [mayStart = "", percent = ""] = text(of.startable).split(" ");
  const startable = optional(mayStart);
  const starting = of.starting === undefined ? null : workerStartOf(text(of.starting));
  const hasReports = ages.some((words) => words.length > 1);
  if (startable === null && starting === null && batchAt < 0 && rate === "" && !hasReports) return snapshot;
  return {
    ...snapshot,
    ...(startable !== null && { startable }),
    ...(percent !== "" && { mostFrequent: Number(percent) / 100 }),
    ...(starting !== null && { starting }),
    ...(rate !== "" && { rate: rateOf(rate) }),
    ...(hasReports && { reports: ages.map(reportOf) }),
    ...(batchAt >= 0 && { batch: batchOf(slots.slice(batchAt + 1)) }),
  };
}

/** Reads the words of worker.lua; null if nothing is known yet. */
function workerStartOf(words: string): WorkerStart | null {
  const [elapsedMs = 0, declaredMs = 0, declaredSlots = 0, meanMs = 0, variance = 0, samples = 0, lastSlots = 0] = words
    .split(" ")
    .map(Number);
  if (declaredMs === 0 && samples === 0) return null;
  const slots = Math.max(1, lastSlots || declaredSlots);
  return { elapsedMs, declaredMs: declaredMs || null, meanMs, variance, samples, slots };
}

/** Reads "max per", followed by "nth age" for some starts. */
function rateOf(words: string): LineRate {
  const [max = 1, perMs = 0, ...starts] = words.split(" ").map(Number);
  const of = starts.flatMap((nth, i) => (i % 2 === 0 ? [{ nth, ageMs: starts[i + 1] ?? 0 }] : []));
  return { max, perMs, starts: of };
}

/** Reads "age percent whole". */
function reportOf([, percent, totalMs]: readonly string[]): Pace | null {
  return percent === undefined ? null : { percent: Number(percent), totalMs: Number(totalMs) };
}

/** Reads "max wait". */
function batchOf(words: string): SlotBatch {
  const [max, waitMs] = words.split(" ");
  return { max: Math.max(1, Number(max)), waitMs: Number(waitMs) };
}

type ServiceTimes = Pick<QueueSnapshot, "samples" | "timesMs">;

const NONE: ServiceTimes = { samples: 0, timesMs: [] };
/** The latest windows that were parsed: there are many more snapshots than changes of a window. */
const parsed = new Map<string, ServiceTimes>();
const MAX_PARSED = 64;

/** Reads "samples total times". */
function serviceTimesOf(words: string): ServiceTimes {
  if (words === "") return NONE;
  const known = parsed.get(words);
  if (known) return known;
  const [samples = 0, , ...timesMs] = words.split(" ").map(Number);
  const times = { samples, timesMs };
  if (parsed.size >= MAX_PARSED) parsed.clear();
  parsed.set(words, times);
  return times;
}
