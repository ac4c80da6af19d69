import { jsonVerb, list, text } from "../library/verb.ts";

/** The state of a queue at the end of an interval, and what has happened to it until then. */
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

/** Counters, which only grow. */
export interface Counts {
  readonly accepted: number;
  readonly started: number;
  /** Including the failed. */
  readonly finished: number;
  readonly failed: number;
}

/** Percentiles of the tasks that finished in the interval, ms; null if there were none. */
export interface Times {
  readonly serviceP50: number | null;
  readonly serviceP95: number | null;
  readonly waitP50: number | null;
  readonly waitP95: number | null;
}

/** The queues whose samples are read, and how many. */
interface HistoryRequest {
  readonly queues: readonly string[];
  readonly max: number;
  /** In how many intervals the last sample is wanted: 1, SHARED.fiveMinutes or SHARED.anHour. */
  readonly span: number;
}

/** Queues of which a process takes samples. */
interface Sampling {
  readonly process: string;
  readonly queues: readonly string[];
  /** Whether all of them were empty at its last call. */
  readonly wereEmpty: boolean;
}

/** The latest samples of queues, in their order, the newest first, and the time of the store, ms. */
export const history = jsonVerb<HistoryRequest, { readonly nowMs: number; readonly samples: readonly Sample[][] }>({
  read: (nowMs: number, { beside }) => ({ nowMs, samples: list(beside).map((samples) => samplesOf(text(samples))) }),
});

/**
 * Adds to the histories of queues, unless another process has begun to in this interval; returns the ms until the interval ends, and
 * whether all of the queues are empty.
 */
export const sample = jsonVerb<Sampling, { readonly endsMs: number; readonly empty: boolean }>();

/** How many numbers a sample has. */
const NUMBERS = 13;
const [HYPHEN, SPACE, ZERO] = [0x2d, 0x20, 0x30] as const;

/** Reads the samples digit by digit, since the histories of thousands of queues have millions of numbers. */
function samplesOf(lines: string): Sample[] {
  const samples: Sample[] = [];
  for (let at = 0; at < lines.length; ) {
    const numbers: (number | null)[] = [];
    while (numbers.length < NUMBERS && at < lines.length) {
      let value: number | null = 0;
      for (; at < lines.length && lines.charCodeAt(at) > SPACE; at += 1) {
        const code = lines.charCodeAt(at);
        value = code === HYPHEN ? null : (value ?? 0) * 10 + code - ZERO;
      }
      numbers.push(value);
      at += 1;
    }
    samples.push(sampleOf(numbers));
  }
  return samples;
}

function sampleOf(numbers: readonly (number | null)[]): Sample {
  return {
    interval: numbers[0] ?? 0,
    waiting: numbers[1] ?? 0,
    running: numbers[2] ?? 0,
    scheduled: numbers[3] ?? 0,
    dead: numbers[4] ?? 0,
    accepted: numbers[5] ?? 0,
    started: numbers[6] ?? 0,
    finished: numbers[7] ?? 0,
    failed: numbers[8] ?? 0,
    times: {
      serviceP50: numbers[9] ?? null,
      serviceP95: numbers[10] ?? null,
      waitP50: numbers[11] ?? null,
      waitP95: numbers[12] ?? null,
    },
  };
}
