import { Counter, collectDefaultMetrics, Gauge, Registry } from "prom-client";

/** A queue's figures, as gauges show them. */
export interface QueueGauges {
  readonly queue: string;
  readonly waiting: number;
  readonly scheduled: number;
  readonly running: number;
  readonly dead: number;
  readonly workers: number;
  readonly slots: number;
}

/** A counter by queue and one word of ours; each pair is looked up once, since some are counted for every task. */
class WordCounter<Word extends string> {
  readonly #counter: Counter;
  readonly #children = new Map<string, { inc(): void }>();

  constructor(registry: Registry, name: string, help: string, label: string) {
    this.#counter = new Counter({ name, help, labelNames: ["queue", label], registers: [registry] });
  }

  count(queue: string, word: Word): void {
    const key = `${queue} ${word}`;
    let child = this.#children.get(key);
    if (!child) {
      child = this.#counter.labels(queue, word);
      this.#children.set(key, child);
    }
    child.inc();
  }
}

/** What a process counts, in a registry of its own. Labels are queues and words of ours: never ids or what callers send. */
export class Metrics {
  readonly registry = new Registry();
  readonly submissions = new WordCounter<string>(
    this.registry,
    "paihao_submissions_total",
    "Submissions, by what became of them",
    "verdict",
  );
  readonly endings = new WordCounter<string>(
    this.registry,
    "paihao_attempts_total",
    "Attempts of this worker, by how the store took their end",
    "ending",
  );
  readonly lost = new WordCounter<string>(
    this.registry,
    "paihao_lost_tasks_total",
    "Tasks whose worker was lost, by what became of them",
    "fate",
  );
  readonly estimates = new WordCounter<"within" | "sooner" | "later">(
    this.registry,
    "paihao_estimates_total",
    "Estimates of a sample, by where the true start lay",
    "start",
  );
  readonly #overdueGauge = new Gauge({
    name: "paihao_handlers_overdue",
    help: "Handlers of this worker that go on after their signal, which nobody waits for any more",
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

  /** Counts how the store took the ends of attempts. */
  countEndings(of: readonly { queue: string }[], verdicts: readonly string[]): void {
    for (const [i, { queue }] of of.entries()) this.endings.count(queue, verdicts[i] ?? "unknown");
  }

  /** Counts handlers that go on after their signal, more or fewer. */
  countOverdue(queue: string, by: 1 | -1): void {
    this.#overdueGauge.inc({ queue }, by);
  }

  /** Adds what Node tells of the process: memory, event loop, garbage. */
  observeProcess(): void {
    collectDefaultMetrics({ register: this.registry });
  }

  /** The exposition, with the figures of the queues as they are now. */
  exposition(queues: readonly QueueGauges[]): Promise<string> {
    for (const { queue, waiting, scheduled, running, dead, workers, slots } of queues) {
      for (const [state, count] of Object.entries({ waiting, scheduled, running, dead })) {
        this.#queueGauge.set({ queue, state }, count);
      }
      for (const [of, count] of Object.entries({ workers, slots })) this.#capacityGauge.set({ queue, of }, count);
    }
    return this.registry.metrics();
  }
}
