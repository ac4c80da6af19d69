import { list, number, text } from "./reply.ts";
import type { Reply, Script } from "./script.ts";

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

/** The latest samples of queues, by queue, the newest first, and the time of the store, ms. */
export const history =
  (script: Script) =>
  async (tag: string, queues: readonly string[], count: number): Promise<{ nowMs: number; samples: Sample[][] }> => {
    const [now, histories] = list(await script.text(tag, [count, ...queues]));
    return { nowMs: number(now), samples: list(histories).map((samples) => list(samples).map(sampleOf)) };
  };

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
