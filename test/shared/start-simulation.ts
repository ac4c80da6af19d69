import { SHARED } from "../../src/store/constants.ts";
import type { WorkerStart } from "../../src/store/line/snapshot.ts";
import { normal } from "./line-simulation.ts";
import { randomOf } from "./random.ts";

const SECOND_MS = 1000;

/** How long workers take to start, ms. */
export const START_TIMES = {
  /** The same image on the same machine. */
  even: (random) => 20 * SECOND_MS * Math.exp(0.1 * normal(random)),
  /** A machine, an image and a model to load. */
  usual: (random) => 70 * SECOND_MS * Math.exp(0.35 * normal(random)),
  /** One start in three waits for a new machine. */
  mixed: (random) => (random() < 2 / 3 ? 30 : 150) * SECOND_MS * Math.exp(0.15 * normal(random)),
} as const satisfies Record<string, (random: () => number) => number>;
export type StartTimes = keyof typeof START_TIMES;

/** The number of first starts that are not judged, since too little is known then. */
const LEARNED = 5;

/** What was known of a start at some time before its end, and how long it took from then on. */
export interface StartLook {
  readonly starting: WorkerStart;
  readonly leftMs: number;
}

/** Starts one after the other: each is looked at when work comes in, and once while it goes on. A test holds the statistics against line/worker.lua. */
export function simulateStarts(times: StartTimes, count: number, seed: number): StartLook[] {
  const random = randomOf(seed);
  const known = new StartStatistics();
  const looks: StartLook[] = [];
  for (let n = 0; n < LEARNED + count; n += 1) {
    const tookMs = START_TIMES[times](random);
    const { mean: meanMs, variance, samples } = known;
    for (const elapsedMs of n < LEARNED ? [] : [0, random() * tookMs]) {
      const starting = { elapsedMs, declaredMs: null, meanMs, variance, samples, slots: 1 };
      looks.push({ starting, leftMs: tookMs - elapsedMs });
    }
    known.add(tookMs);
  }
  return looks;
}

/** The statistics of starts, as line/worker.lua keeps them for starts of an ordinary length. */
export class StartStatistics {
  mean = 0;
  variance = 0;
  samples = 0;

  add(tookMs: number): void {
    this.samples += 1;
    const weight = Math.max(1 / this.samples, SHARED.minStartWeight);
    const distance = tookMs - this.mean;
    this.mean += weight * distance;
    this.variance = (1 - weight) * (this.variance + weight * distance * distance);
  }
}
