import { SHARED } from "../../store/constants.ts";
import type { Keys } from "../../store/keys.ts";
import type { Scripts } from "../../store/library/scripts.ts";
import type { Counts, Gauges, Sample, Times } from "../../store/line/history.ts";
import { newCall } from "../calls/calls.ts";
import { queueBatches } from "../calls/homes.ts";

/** Maximum number of queues that are sampled in one call: each may read some of the latest outcomes. */
const SAMPLED = 4;
/** Maximum number of queues whose histories are read in one call. */
const READ = 10;
/** An interval in which something happened has a sample after this time, since ticks come every second, ms. */
const SETTLED_MS = 3000;

/** A day, in intervals. */
const DAY = 86_400_000 / SHARED.bucketMs;

const INTERVAL_S = SHARED.bucketMs / 1000;
const GAUGES = ["waiting", "running", "scheduled", "dead"] as const satisfies (keyof Gauges)[];
const COUNTS = ["accepted", "started", "finished", "failed"] as const satisfies (keyof Counts)[];
const TIMES = ["serviceP50", "serviceP95", "waitP50", "waitP95"] as const satisfies (keyof Times)[];
const NO_TIMES: Times = { serviceP50: null, serviceP95: null, waitP50: null, waitP95: null };

/** Which part of a history is wanted. */
export interface Span {
  /** How far back, in intervals of 10 s. */
  readonly intervals: number;
  /** How many intervals make one value: a multiple of {@link spanOfSamples}. */
  readonly step: number;
  /** Only intervals that ended later, s since the epoch. */
  readonly afterS: number;
}

/** The values of one queue, each list as long as the times. Times are ms. */
type Series = Readonly<Record<keyof Gauges | keyof Counts, readonly number[]>> &
  Readonly<Record<keyof Times, readonly (number | null)[]>>;

/** The histories of queues. */
export interface History {
  /** The ends of the intervals, s since the epoch. */
  readonly at: readonly number[];
  /** In the order of the queues. */
  readonly queues: readonly Series[];
  /** The versions of the handlers that began in this time, the newest first. */
  readonly deploys: readonly { readonly atMs: number; readonly version: string }[];
}

/** In how many intervals the last sample is kept that goes so far back. @param intervals how far, in intervals of 10 s */
export function spanOfSamples(intervals: number): number {
  if (intervals <= SHARED.maxSamples) return 1;
  return intervals <= DAY ? SHARED.fiveMinutes : SHARED.anHour;
}

/**
 * The state of queues and what happened to them, kept in the store: a sample of each interval of the last hour in which something changed,
 * and the last one of every five minutes of the last day, and of every hour of the last week.
 */
export class Histories {
  readonly #scripts: Pick<Scripts, "sample" | "history" | "deploys">;
  readonly #keys: Keys;
  /** Identifies this process: only one process takes the samples of an interval. */
  readonly #process = newCall();
  /** What the last call found empty, by the partition's tag and the queues. */
  readonly #empty = new Set<string>();

  constructor(scripts: Pick<Scripts, "sample" | "history" | "deploys">, keys: Keys) {
    this.#scripts = scripts;
    this.#keys = keys;
  }

  /**
   * Adds the intervals of a partition that have ended, unless another process does; returns the ms until the current one ends.
   * @throws ProblemError store-unavailable
   */
  async sample(partition: number, queues: readonly string[]): Promise<number> {
    const tag = this.#keys.tag(partition);
    let endsMs: number = SHARED.bucketMs;
    for (let i = 0; i < queues.length; i += SAMPLED) {
      const some = queues.slice(i, i + SAMPLED);
      const name = [tag, ...some].join(" ");
      const sampled = await this.#scripts.sample(tag, {
        process: this.#process,
        queues: some,
        wereEmpty: this.#empty.delete(name),
      });
      if (sampled.empty) this.#empty.add(name);
      endsMs = Math.min(endsMs, sampled.endsMs);
    }
    return endsMs;
  }

  /** The samples of the last hour in which something changed, the newest first. @throws ProblemError store-unavailable */
  async samples(queues: readonly string[]): Promise<ReadonlyMap<string, readonly Sample[]>> {
    const found = new Map<string, readonly Sample[]>();
    for (const { tag, queues: some } of queueBatches(this.#keys, queues, READ)) {
      const { samples } = await this.#scripts.history(tag, { queues: some, max: SHARED.maxSamples, span: 1 });
      for (const [n, queue] of some.entries()) found.set(queue, samples[n] ?? []);
    }
    return found;
  }

  /** The histories of queues, in the given order. @throws ProblemError store-unavailable */
  async read(queues: readonly string[], { intervals, step, afterS }: Span): Promise<History> {
    let at: readonly number[] = [];
    const series = new Map<string, Series>();
    for (const { tag, queues: some } of queueBatches(this.#keys, queues, READ)) {
      const span = spanOfSamples(intervals);
      // A few more than wanted: some belong to the interval that has not settled, and an older one gives the state until the first change.
      const max = Math.ceil((intervals + step) / span) + 2;
      const { nowMs, samples } = await this.#scripts.history(tag, { queues: some, max, span });
      if (series.size === 0) {
        const end = Math.floor((nowMs - SETTLED_MS) / SHARED.bucketMs / step) * step;
        at = ends(Math.max(end - intervals, Math.ceil(afterS / INTERVAL_S / step) * step), end, step);
      }
      for (const [n, queue] of some.entries()) series.set(queue, seriesOf(samples[n] ?? [], at, step));
    }
    const deploys = await this.#scripts.deploys(this.#keys.tag(0), {});
    const beginMs = ((at[0] ?? Number.POSITIVE_INFINITY) - step * INTERVAL_S) * 1000;
    return {
      at,
      queues: queues.flatMap((queue) => series.get(queue) ?? []),
      deploys: deploys.filter(({ atMs }) => atMs >= beginMs),
    };
  }
}

/** The ends of the steps of a span of intervals, s since the epoch. */
function ends(first: number, end: number, step: number): number[] {
  const count = Math.max(0, Math.floor((end - first) / step));
  return Array.from({ length: count }, (_, n) => (end - (count - 1 - n) * step) * INTERVAL_S);
}

/** The values at the ends of steps, from the samples of a queue, the newest first. */
function seriesOf(samples: readonly Sample[], at: readonly number[], step: number): Series {
  const series = {
    ...{ waiting: [] as number[], running: [] as number[], scheduled: [] as number[], dead: [] as number[] },
    ...{ accepted: [] as number[], started: [] as number[], finished: [] as number[], failed: [] as number[] },
    ...{ serviceP50: [] as (number | null)[], serviceP95: [] as (number | null)[] },
    ...{ waitP50: [] as (number | null)[], waitP95: [] as (number | null)[] },
  };
  const begin = (at[0] ?? 0) / INTERVAL_S - step;
  let next = samples.findLastIndex(({ interval }) => interval >= begin);
  // The sample before is what the first one is compared with.
  let last = samples[next + 1] ?? samples[next];
  for (const endS of at) {
    const before = last;
    const times: Record<keyof Times, number | null> = { ...NO_TIMES };
    for (let sample = samples[next]; sample && sample.interval < endS / INTERVAL_S; sample = samples[next]) {
      for (const name of TIMES) times[name] = sample.times[name] ?? times[name];
      last = sample;
      next -= 1;
    }
    for (const name of GAUGES) series[name].push(last?.[name] ?? 0);
    // A counter that has begun anew says nothing about this step.
    for (const name of COUNTS) series[name].push(Math.max(0, (last?.[name] ?? 0) - (before?.[name] ?? 0)));
    for (const name of TIMES) series[name].push(times[name]);
  }
  return series;
}
