import { named, verb } from "./codec.ts";
import { list, number, text } from "./reply.ts";
import type { Reply } from "./script.ts";

/** How a queue stood at the end of an interval, and what happened to it meanwhile, in one partition. */
export interface Sample extends Gauges, Counts {
  /** The beginning of the interval, in intervals since the epoch. */
  readonly interval: number;
  readonly times: Times;
}

/** How many there are at one instant. */
export interface Gauges {
  readonly waiting: number;
  readonly running: number;
  readonly scheduled: number;
  readonly dead: number;
}

/** How many there were in an interval. */
export interface Counts {
  readonly accepted: number;
  readonly started: number;
  /** Including the failed. */
  readonly finished: number;
  readonly failed: number;
}

/** Percentiles of those that finished, ms; null if there were none. */
export interface Times {
  readonly serviceP50: number | null;
  readonly serviceP95: number | null;
  readonly waitP50: number | null;
  readonly waitP95: number | null;
}

const HISTORIES = ["nowMs", "histories"] as const;
const SAMPLED = ["endsMs", "empty"] as const;

/** The latest samples of queues, by queue, the newest first, and the time of the store, ms. */
export const history = verb(
  { args: ["most"], item: ["queue"], answer: HISTORIES },
  (script) =>
    async (tag: string, queues: readonly string[], count: number): Promise<{ nowMs: number; samples: Sample[][] }> => {
      const { nowMs, histories } = named(HISTORIES, await script.text(tag, [count, queues.length, ...queues]));
      return { nowMs: number(nowMs), samples: list(histories).map((samples) => list(samples).map(sampleOf)) };
    },
);

/**
 * Adds to the histories of queues, unless another process has begun to in this interval; returns the ms until the interval ends, and
 * whether nothing is in any of the queues: then the next call is told so.
 */
export const sample = verb(
  { args: ["process", "empty"], item: ["queue"], answer: SAMPLED },
  (script) =>
    async (
      tag: string,
      process: string,
      queues: readonly string[],
      wasEmpty: boolean,
    ): Promise<{ readonly endsMs: number; readonly empty: boolean }> => {
      const args = [process, wasEmpty ? "1" : "", queues.length, ...queues];
      const { endsMs, empty } = named(SAMPLED, await script.text(tag, args));
      return { endsMs: number(endsMs), empty: number(empty) === 1 };
    },
);

function sampleOf(reply: Reply): Sample {
  const words = text(reply).split(" ");
  const [interval, waiting, running, scheduled, dead, accepted, started, finished, failed] = words.map(Number);
  const [serviceP50, serviceP95, waitP50, waitP95] = words.slice(9).map((word) => (word === "-" ? null : Number(word)));
  return {
    interval: interval ?? 0,
    ...{ waiting: waiting ?? 0, running: running ?? 0, scheduled: scheduled ?? 0, dead: dead ?? 0 },
    ...{ accepted: accepted ?? 0, started: started ?? 0, finished: finished ?? 0, failed: failed ?? 0 },
    times: {
      ...{ serviceP50: serviceP50 ?? null, serviceP95: serviceP95 ?? null },
      ...{ waitP50: waitP50 ?? null, waitP95: waitP95 ?? null },
    },
  };
}
