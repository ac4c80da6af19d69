import { list, number, optional, text } from "./reply.ts";
import type { BytesReply, Reply } from "./script.ts";

/** The figures of a queue at one instant, as returned by lua/snapshot.lua. */
export interface QueueSnapshot {
  readonly queue: string;
  readonly waiting: number;
  readonly scheduled: number;
  /** How many of the waiting tasks may start; left out if the queue is not keyed: then all. */
  readonly startable?: number;
  readonly running: number;
  readonly paused: boolean;
  /** Its target is down; of several partitions only one knows. */
  readonly resting: boolean;
  readonly workers: number;
  /** Slots of all live workers. */
  readonly slots: number;
  /** Exponentially weighted mean of the service time, ms; null before the first sample. */
  readonly meanMs: number | null;
  /** Its variance, ms²; null before the first sample. */
  readonly variance: number | null;
  readonly samples: number;
  /** Mean square errors of the mean as a forecast for the next 16, 64, 256, 1024 tasks, ms²; 0 before the first of each. */
  readonly misses: readonly number[];
  /** The mean over about the last thousand tasks, ms; null before the sixteenth. */
  readonly slowMeanMs: number | null;
  /** Its mean square errors. */
  readonly slowMisses: readonly number[];
  /** How long some of the running tasks have been running, ms; empty unless every slot is busy. */
  readonly agesMs: readonly number[];
}

/** Parses the reply of lua/snapshot.lua. */
export function snapshotOf(reply: Reply | BytesReply | undefined): QueueSnapshot {
  const [queue, waiting, scheduled, running, paused, workers, slots, mean, deviation, samples] = list(reply);
  const [forecast, ages, resting, startable] = list(reply).slice(10);
  const [slowMean, ...misses] = text(forecast).split(" ");
  const snapshot: QueueSnapshot = {
    queue: text(queue),
    waiting: number(waiting),
    scheduled: number(scheduled),
    running: number(running),
    paused: text(paused) === "1",
    resting: text(resting) === "1",
    workers: number(workers),
    slots: number(slots),
    meanMs: milliseconds(mean),
    variance: squareOf(milliseconds(deviation)),
    samples: number(samples),
    misses: misses.flatMap((miss, i) => (i % 2 === 0 ? Number(miss) : [])),
    slowMeanMs: slowMean ? Number(slowMean) : null,
    slowMisses: misses.flatMap((miss, i) => (i % 2 === 1 ? Number(miss) : [])),
    agesMs: list(ages).map(number),
  };
  return startable === undefined ? snapshot : { ...snapshot, startable: number(startable) };
}

/** µs as ms; null for "". */
function milliseconds(reply: Reply | BytesReply | undefined): number | null {
  const micros = optional(reply);
  return micros === null ? null : micros / 1000;
}

const squareOf = (value: number | null): number | null => (value === null ? null : value ** 2);
