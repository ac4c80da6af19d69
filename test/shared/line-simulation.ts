import type { Busy } from "../../src/engine/estimates/forecast.ts";
import { figuresOf } from "../../src/engine/estimates/service-figures.ts";
import { SHARED } from "../../src/store/constants.ts";
import { randomOf } from "./random.ts";

/** A normally distributed number: mean 0, deviation 1. */
export const normal = (random: () => number): number =>
  Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());

/** How long the nth task takes, about 10 on average. */
export type Workload = (n: number, random: () => number) => number;

/** The mean of every workload. */
export const MEAN = 10;

/** The workloads on which estimates are tested. */
export const WORKLOADS = {
  /** Always the same, except for the 2 % by which even the most regular work varies. */
  constant: (_, random) => MEAN * (1 + 0.02 * normal(random)),
  exponential: (_, random) => -MEAN * Math.log(1 - random()),
  /** One task in ten takes eleven times as long as the others. */
  bimodal: (_, random) => (random() < 0.9 ? 5 : 55) * (1 + 0.1 * normal(random)),
  /** The mean swings between 4 and 16 within 1,500 tasks. */
  drifting: (n, random) =>
    MEAN * (1 + 0.6 * Math.sin((2 * Math.PI * n) / 1500)) * Math.max(0.1, 1 + 0.3 * normal(random)),
} as const satisfies Record<string, Workload>;
export type WorkloadName = keyof typeof WORKLOADS;

/** How tasks arrive: at random with 95 % of the slots' capacity, 400 at once, or 30 at a time. */
export const ARRIVALS = ["steady", "burst", "waves"] as const;
export type Arrivals = (typeof ARRIVALS)[number];

/** The window of the latest service times, as task/complete.lua keeps it for tasks that are not quick. */
export class ServiceWindow {
  samples = 0;
  timesMs: readonly number[] = [];

  add(time: number): void {
    this.samples += 1;
    this.timesMs = [...this.timesMs, time].slice(-SHARED.window);
  }
}

/** What was known at a look at a waiting task, and how long it waited from then on. */
export interface Look {
  readonly busy: Busy;
  readonly waited: number;
}

interface Waiting {
  readonly looks: { readonly busy: Busy; readonly at: number }[];
}

/**
 * Simulates a line: tasks arrive, start in order on the first free slot, and take as long as the workload says. Half of them
 * get an estimate when they arrive, and now and then one that waits gets another.
 */
export function simulateLine(options: {
  workload: Workload;
  arrivals: Arrivals;
  slots: number;
  tasks: number;
  seed: number;
}): Look[] {
  return new Simulation(options).run();
}

class Simulation {
  readonly #options: Parameters<typeof simulateLine>[0];
  readonly #random: () => number;
  readonly #window = new ServiceWindow();
  readonly #looks: Look[] = [];
  readonly #waiting: Waiting[] = [];
  #running: { readonly began: number; readonly ends: number }[] = [];
  #now = 0;
  #started = 0;
  #arrived = 0;
  #nextArrival = 0;

  constructor(options: Parameters<typeof simulateLine>[0]) {
    this.#options = options;
    this.#random = randomOf(options.seed);
  }

  run(): Look[] {
    for (;;) {
      const end = Math.min(...this.#running.map((task) => task.ends));
      const arrival = this.#arrived < this.#options.tasks ? this.#nextArrival : Number.POSITIVE_INFINITY;
      if (arrival === Number.POSITIVE_INFINITY && end === Number.POSITIVE_INFINITY) return this.#looks;
      if (arrival <= end) this.#arrive(arrival);
      else this.#end(end);
      this.#lookBetween(Math.min(end, arrival));
    }
  }

  #arrive(at: number): void {
    this.#now = at;
    this.#arrived += 1;
    const { slots } = this.#options;
    if (this.#running.length < slots) this.#start();
    else {
      const task: Waiting = { looks: [] };
      if (this.#random() < 0.5) this.#look(task, this.#waiting.length, at);
      this.#waiting.push(task);
    }
    this.#nextArrival = at + this.#pause();
  }

  #end(at: number): void {
    this.#now = at;
    const ended = this.#running.find((task) => task.ends === at);
    this.#running = this.#running.filter((task) => task !== ended);
    if (ended) this.#window.add(at - ended.began);
    const next = this.#waiting.shift();
    if (!next) return;
    for (const look of next.looks) this.#looks.push({ busy: look.busy, waited: at - look.at });
    this.#start();
  }

  #start(): void {
    const takes = this.#options.workload(this.#started, this.#random);
    this.#started += 1;
    this.#running.push({ began: this.#now, ends: this.#now + takes });
  }

  /** Looks at some waiting task at some moment before the next event. */
  #lookBetween(next: number): void {
    if (this.#waiting.length === 0 || this.#random() > 0.3) return;
    const index = Math.floor(this.#random() * this.#waiting.length);
    const task = this.#waiting[index];
    const at = this.#now + (Math.max(this.#now, next) - this.#now) * this.#random();
    if (task && Number.isFinite(at)) this.#look(task, index, at);
  }

  #look(task: Waiting, index: number, at: number): void {
    const { samples, timesMs } = this.#window;
    if (samples === 0) return;
    const { slots } = this.#options;
    const agesMs = this.#running.map((running) => at - running.began);
    const turnovers = index + this.#running.length - slots + 1;
    task.looks.push({ at, busy: { turnovers, slots, agesMs, service: figuresOf(timesMs, samples) } });
  }

  /** Until the next arrival. */
  #pause(): number {
    const { arrivals, slots } = this.#options;
    const perTask = MEAN / slots;
    if (arrivals === "steady") return (-Math.log(1 - this.#random()) * perTask) / 0.95;
    if (arrivals === "burst") return this.#arrived % 400 === 0 ? 400 * perTask * 1.3 : 0;
    return this.#arrived % 30 === 0 ? 30 * perTask * 2 * this.#random() : 0;
  }
}
