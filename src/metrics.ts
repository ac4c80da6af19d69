import { Counter, collectDefaultMetrics, Gauge, Registry } from "prom-client";

/** The figures of a queue for the gauges. */
export interface QueueGauges {
  readonly queue: string;
  readonly waiting: number;
  readonly scheduled: number;
  readonly running: number;
  readonly dead: number;
  readonly workers: number;
  readonly slots: number;
  /** Null if it is no gateway. */
  readonly resting: boolean | null;
  /** Null if the handler has no target wait, or if unknown. */
  readonly slotsWanted: number | null;
}

/**
 * A counter with the labels queue and one word. Each label pair is looked up only once, since some counters change with every
 * task.
 */
class WordCounter<Word extends string> {
  readonly #counter: Counter;
  readonly #children = new Map<string, { inc(by: number): void }>();

  constructor(registry: Registry, name: string, help: string, label: string) {
    this.#counter = new Counter({ name, help, labelNames: ["queue", label], registers: [registry] });
  }

  count(queue: string, word: Word, by = 1): void {
    const key = `${queue} ${word}`;
    let child = this.#children.get(key);
    if (!child) {
      child = this.#counter.labels(queue, word);
      this.#children.set(key, child);
    }
    child.inc(by);
  }
}

/**
 * Node's metrics of the process: memory, event loop, garbage collection. One registry for all servers of the process, since its
 * observers cannot be stopped.
 */
let processRegistry: Registry | undefined;

/** The metrics of a server, in a registry of its own. Labels are queues and fixed words, never ids or values from callers. */
export class Metrics {
  readonly registry = new Registry();
  readonly submissions = new WordCounter<string>(
    this.registry,
    "paihao_submissions_total",
    "Submissions, by verdict",
    "verdict",
  );
  readonly endings = new WordCounter<string>(
    this.registry,
    "paihao_attempts_total",
    "Ended attempts of this worker, by the verdict of the store",
    "ending",
  );
  readonly lost = new WordCounter<string>(
    this.registry,
    "paihao_lost_tasks_total",
    "Tasks whose worker was lost, by what happened to them",
    "fate",
  );
  readonly estimates = new WordCounter<"within" | "sooner" | "later">(
    this.registry,
    "paihao_estimates_total",
    "A sample of the estimates, by whether the task started within the estimated range, sooner or later",
    "start",
  );
  readonly #overdueGauge = new Gauge({
    name: "paihao_handlers_overdue",
    help: "Handlers of this worker that continue after their signal and are no longer waited for",
    labelNames: ["queue"],
    registers: [this.registry],
  });
  readonly #queueGauge = new Gauge({
    name: "paihao_queue_tasks",
    help: "Tasks of a queue, by state",
    labelNames: ["queue", "state"],
    registers: [this.registry],
  });
  readonly #capacityGauge = new Gauge({
    name: "paihao_queue_capacity",
    help: "Live workers of a queue, and their slots",
    labelNames: ["queue", "of"],
    registers: [this.registry],
  });
  readonly #restingGauge = new Gauge({
    name: "paihao_queue_resting",
    help: "1 while the queue of a gateway rests because its API is down, else 0",
    labelNames: ["queue"],
    registers: [this.registry],
  });
  readonly #slotsWantedGauge = new Gauge({
    name: "paihao_queue_slots_wanted",
    help: "Slots that would start a new task of a queue within its targetWait; absent without one, or if unknown",
    labelNames: ["queue"],
    registers: [this.registry],
  });

  /** Counts the verdicts of the store on ended attempts. */
  countEndings(of: readonly { queue: string }[], verdicts: readonly string[]): void {
    const endingOf = (i: number) => verdicts[i] ?? "unknown";
    // Most of one call are the same: those that follow one another are counted at once.
    for (let from = 0, to = 0; from < of.length; from = to) {
      const { queue } = of[from] as { queue: string };
      const ending = endingOf(from);
      while (to < of.length && of[to]?.queue === queue && endingOf(to) === ending) to += 1;
      this.endings.count(queue, ending, to - from);
    }
  }

  /** Changes the number of handlers that continue after their signal. */
  countOverdue(queue: string, by: 1 | -1): void {
    this.#overdueGauge.inc({ queue }, by);
  }

  /** Begins to observe the process, whose metrics then follow those of the server. */
  observeProcess(): void {
    if (processRegistry !== undefined) return;
    processRegistry = new Registry();
    collectDefaultMetrics({ register: processRegistry });
  }

  /** The metrics as text, with the given figures of the queues. */
  async exposition(queues: readonly QueueGauges[]): Promise<string> {
    for (const { queue, waiting, scheduled, running, dead, workers, slots, resting, slotsWanted } of queues) {
      for (const [state, count] of Object.entries({ waiting, scheduled, running, dead })) {
        this.#queueGauge.set({ queue, state }, count);
      }
      for (const [of, count] of Object.entries({ workers, slots })) this.#capacityGauge.set({ queue, of }, count);
      if (resting !== null) this.#restingGauge.set({ queue }, resting ? 1 : 0);
      if (slotsWanted === null) this.#slotsWantedGauge.remove({ queue });
      else this.#slotsWantedGauge.set({ queue }, slotsWanted);
    }
    return `${await this.registry.metrics()}${(await processRegistry?.metrics()) ?? ""}`;
  }
}
