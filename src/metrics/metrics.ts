import {
  AggregatorRegistry,
  Counter,
  collectDefaultMetrics,
  Gauge,
  type MetricValueWithName,
  Registry,
} from "prom-client";
import { Portions } from "../portions.ts";
import { Gauges } from "./gauges.ts";
import { Durations, LongestBlock, Sizes, WordCounter } from "./kinds.ts";

/*
 * Words of counters by queue. The lists have those that alerts count (deploy/prometheus), which are shown at 0 from the start: each word is a
 * series for every queue.
 */

/** What can become of a submission: the verdicts of the store, or the codes of its errors; not-durable in addition to a verdict. */
const SUBMISSION_VERDICTS = [
  "new",
  "full",
  "webhooks-full",
  "not-durable",
  "store-unavailable",
  "store-full",
  "internal",
] as const;
export type SubmissionVerdict =
  | (typeof SUBMISSION_VERDICTS)[number]
  | ("replay" | "conflict" | "elsewhere" | "foreign" | "too-many" | "long" | "late" | "far" | "closed" | "dry");

/** The verdicts of the store on ended attempts. */
const ATTEMPT_ENDINGS = ["done", "failed", "retrying", "dead"] as const;
export type AttemptEnding =
  | (typeof ATTEMPT_ENDINGS)[number]
  | ("canceled" | "released" | "stale" | "unknown" | "already");

/** How handlers end, and why they are asked to. */
const ATTEMPT_ENDS = [
  "result",
  "error",
  "give-up",
  "later",
  "permanent",
  "overdue",
  "lost",
  "timeout",
  "canceled",
  "deadline",
  "abandoned",
  "lease-lost",
  "shutdown",
] as const;
export type AttemptEnd = (typeof ATTEMPT_ENDS)[number];

/** What becomes of tasks that have lost their workers. */
const LOST_OUTCOMES = ["waiting", "dead", "canceled"] as const;
export type LostOutcome = (typeof LOST_OUTCOMES)[number] | "released";

/** When tasks start, compared with their estimates. */
const STARTS = ["within", "sooner", "later"] as const;

/** The classes of the status of an answer. */
const STATUS_CLASSES = ["2xx", "3xx", "4xx", "5xx"] as const;

/** For requests, as the semantic conventions of OpenTelemetry advise, and 30 for long polls. */
const REQUEST_BUCKETS_S = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 30];
/** For handlers, which may take minutes. */
const ATTEMPT_BUCKETS_S = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800];

/** For calls with up to 500 tasks. */
const BATCH_BUCKETS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 500];

/**
 * Node's metrics of the process: memory, event loop, garbage collection. One registry for all servers of the process, since its
 * observers cannot be stopped.
 */
let processRegistry: Registry | undefined;

/** The metrics of a server, in a registry of its own. Labels are queues and fixed words, never ids or values from callers. */
export class Metrics {
  readonly registry = new Registry();
  readonly submissions = new WordCounter<SubmissionVerdict>(
    this.registry,
    "paihao_submissions_total",
    "Submissions to this process, by the verdict of the store or the code of its error; not-durable ones are counted in addition",
    "verdict",
    SUBMISSION_VERDICTS,
  );
  readonly endings = new WordCounter<AttemptEnding>(
    this.registry,
    "paihao_attempts_total",
    "Ended attempts that this process reported, by the verdict of the store",
    "ending",
    ATTEMPT_ENDINGS,
  );
  readonly attempts = new Durations<[queue: string, end: AttemptEnd]>(
    this.registry,
    "paihao_attempt_duration_seconds",
    "How long handlers ran in this process, by how they ended",
    ["queue", "end"],
    ATTEMPT_BUCKETS_S,
  );
  readonly batches = new Sizes(
    this.registry,
    "paihao_batch_tasks",
    "How many tasks each call of a handler with batch got in this process",
    BATCH_BUCKETS,
  );
  readonly requests = new Durations<[method: string, route: string, status: string]>(
    this.registry,
    "paihao_http_request_duration_seconds",
    "Time until the answer to a request began, by method, route and status, including the wait of a synchronous caller",
    ["method", "route", "status"],
    REQUEST_BUCKETS_S,
  );
  readonly lost = new WordCounter<LostOutcome>(
    this.registry,
    "paihao_lost_tasks_total",
    "Tasks whose lease ended while their worker was silent, as found by this process, by what happened to them",
    "outcome",
    LOST_OUTCOMES,
  );
  readonly estimates = new WordCounter(
    this.registry,
    "paihao_estimates_total",
    "A sample of the estimates, by whether the task started within the estimated range, sooner or later",
    "start",
    STARTS,
  );
  readonly stuck = new Counter({
    name: "paihao_handlers_stuck_total",
    help: "Handlers of queues with undo, keyed or limit.running that ignored their signal for so long that this process has to end",
    labelNames: ["queue"],
    registers: [this.registry],
  });
  readonly gauges = new Gauges(this.registry);
  #exposing: Promise<string> | undefined;
  readonly #answers: readonly { inc(): void }[];
  readonly #overdue = this.gauges.add(
    "paihao_handlers_overdue",
    "Handlers of this process that continue after their signal",
    "queue",
  );
  /** @param version that of the package */
  constructor(version = "") {
    this.gauges.add("paihao_build_info", "1, with the version of this process", "version").set({ version }, 1);
    const answers = new Counter({
      name: "paihao_http_responses_total",
      help: "Answers to requests, by the class of their status; not of /healthz, /readyz and /metrics, nor to callers that have hung up",
      labelNames: ["status"],
      registers: [this.registry],
    });
    this.#answers = STATUS_CLASSES.map((status) => answers.labels({ status }));
    for (const status of STATUS_CLASSES) answers.inc({ status }, 0);
  }

  /**
   * Shows the counters of a queue with a handler here at 0 that alerts count: one that appears with its first event shows no increase, so
   * no alert would see that event.
   */
  begin(queue: string): void {
    for (const counter of [this.submissions, this.endings, this.lost, this.estimates]) counter.begin(queue);
  }

  /** The same for how long handlers ran: twelve histograms a queue, so only where an alert counts them. */
  beginAttempts(queue: string): void {
    for (const end of ATTEMPT_ENDS) this.attempts.begin({ queue, end });
  }

  /** Counts an answer by its status. */
  countAnswer(status: number): void {
    this.#answers[Math.floor(status / 100) - 2]?.inc();
  }

  /** Counts the verdicts of the store on ended attempts. */
  countEndings(of: readonly { queue: string }[], verdicts: readonly AttemptEnding[]): void {
    const endingOf = (i: number) => verdicts[i] ?? "unknown";
    // Most endings of one call are the same, so consecutive equal ones are counted at once.
    for (let from = 0, to = 0; from < of.length; from = to) {
      const { queue } = of[from] as { queue: string };
      const ending = endingOf(from);
      while (to < of.length && of[to]?.queue === queue && endingOf(to) === ending) to += 1;
      this.endings.count(queue, ending, to - from);
    }
  }

  /** Changes the number of handlers that continue after their signal. */
  countOverdue(queue: string, by: 1 | -1): void {
    this.#overdue.inc({ queue }, by);
  }

  /** Begins to observe the process, whose metrics then follow those of the server. */
  observeProcess(): void {
    if (processRegistry !== undefined) return;
    processRegistry = new Registry();
    collectDefaultMetrics({ register: processRegistry });
    const block = new LongestBlock();
    new Gauge({
      name: "paihao_event_loop_longest_block_seconds",
      help: "The longest time for which the event loop of this process was blocked, in the last minute or two",
      aggregator: "max",
      registers: [processRegistry],
      collect() {
        this.set(block.ms / 1000);
      },
    });
  }

  /** Lets the parent of this process put them together with those of other processes. */
  share(): void {
    AggregatorRegistry.setRegistries(processRegistry ? [this.registry, processRegistry] : [this.registry]);
  }

  /** The metrics as text, for all who ask at the same time. */
  exposition(): Promise<string> {
    this.#exposing ??= this.#expose().finally(() => {
      this.gauges.kept = false;
      this.#exposing = undefined;
    });
    return this.#exposing;
  }

  /** In portions: with thousands of queues each metric is long. */
  async #expose(): Promise<string> {
    await this.gauges.refresh();
    this.gauges.kept = true;
    const lines: string[] = [];
    const portions = new Portions();
    for (const { name, help, type } of this.registry.getMetricsAsArray()) {
      lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`);
      const { values = [] } = (await this.registry.getSingleMetric(name)?.get()) ?? {};
      for (const value of values) {
        lines.push(lineOf(name, value));
        await portions.pause();
      }
    }
    return `${lines.join("\n")}\n${(await processRegistry?.metrics()) ?? ""}`;
  }
}

/** One value in the text format of Prometheus. */
function lineOf(name: string, { metricName = name, labels, value }: MetricValueWithName<string>): string {
  const shown = Object.entries(labels).map(([label, word]) => `${label}="${escaped(String(word))}"`);
  return `${metricName}${shown.length > 0 ? `{${shown.join(",")}}` : ""} ${value}`;
}

const escaped = (text: string) => text.replace(/[\\"\n]/g, (one) => (one === "\n" ? "\\n" : `\\${one}`));
