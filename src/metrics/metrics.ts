import { AggregatorRegistry, Counter, collectDefaultMetrics, Gauge, Registry } from "prom-client";
import { Portions } from "../portions.ts";
import { Durations, Sizes, WordCounter } from "./kinds.ts";
import { LongestBlock } from "./longest-block.ts";
import {
  ATTEMPT_ENDINGS,
  ATTEMPT_ENDS,
  type AttemptEnd,
  type AttemptEnding,
  FATES,
  STARTS,
  STATUS_CLASSES,
  SUBMISSION_VERDICTS,
} from "./words.ts";

/** How gauges of several processes are combined, if not by the highest value: most are read from the store, and the same in all. */
const TOGETHER: Readonly<Record<string, "sum" | "min">> = {
  paihao_handlers_overdue: "sum",
  paihao_ready: "min",
  paihao_store_up: "min",
  paihao_store_writable: "min",
};

/** The figures of a queue for the gauges. */
interface QueueGauges {
  readonly queue: string;
  readonly waiting: number;
  readonly scheduled: number;
  readonly running: number;
  readonly dead: number;
  readonly workers: number;
  readonly slots: number;
  readonly paused: boolean;
  /** No process has a handler for it. */
  readonly orphaned: boolean;
  /** Null if none waits. */
  readonly oldestWaitingMs: number | null;
  /** How long the first scheduled task has been due; null if none is. */
  readonly lateMs: number | null;
  /** Null if it has no gate. */
  readonly resting: boolean | null;
  /** Null if the handler has no target wait, or if unknown. */
  readonly slotsWanted: number | null;
}

/** What a server of the store reports about itself. */
export interface StoreNode {
  /** `host:port`. */
  readonly node: string;
  readonly usedBytes: number;
  /** Null without a limit. */
  readonly maxBytes: number | null;
  /** Whether its last snapshot and its last write to the append-only file succeeded. */
  readonly persists: boolean;
  /** Connected replicas that keep up. */
  readonly replicas: number;
}

/** Values that are read at each scrape: the same in every process, except `ready`. */
export interface Gauges {
  /** What /readyz says. */
  readonly ready: boolean;
  /** Whether the store took the writes of the last tick. */
  readonly writable: boolean;
  /** Null if the store cannot be reached. */
  readonly queues: readonly QueueGauges[] | null;
  readonly nodes: readonly StoreNode[];
}

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
  readonly submissions = new WordCounter(
    this.registry,
    "paihao_submissions_total",
    "Submissions to this process, by the verdict of the store or the code of its error; not-durable ones are counted in addition",
    "verdict",
    SUBMISSION_VERDICTS,
  );
  readonly endings = new WordCounter(
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
  readonly lost = new WordCounter(
    this.registry,
    "paihao_lost_tasks_total",
    "Tasks whose lease ended while their worker was silent, as found by this process, by what happened to them",
    "fate",
    FATES,
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
  #read: (() => Promise<Gauges>) | undefined;
  #refreshing: Promise<void> | undefined;
  #exposing: Promise<string> | undefined;
  /** Whether the gauges have just been read for the exposition that is made. */
  #isFresh = false;
  readonly #answers: readonly { inc(): void }[];
  readonly #overdue = this.#gauge(
    "paihao_handlers_overdue",
    "Handlers of this process that continue after their signal",
    "queue",
  );
  readonly #tasks = this.#gauge("paihao_queue_tasks", "Tasks of a queue, by state", "queue", "state");
  readonly #workers = this.#gauge("paihao_queue_workers", "Live workers of a queue", "queue");
  readonly #slots = this.#gauge("paihao_queue_slots", "Slots of the live workers of a queue", "queue");
  readonly #slotsWanted = this.#gauge(
    "paihao_queue_slots_wanted",
    "Slots that would start a new task of a queue within its targetWait, 0 without work; absent if unknown",
    "queue",
  );
  readonly #oldest = this.#gauge(
    "paihao_queue_oldest_wait_seconds",
    "Age of the first task in line, 0 if none waits",
    "queue",
  );
  readonly #late = this.#gauge(
    "paihao_queue_scheduled_late_seconds",
    "How long the first scheduled or retrying task has been due without joining the line, 0 if none is due",
    "queue",
  );
  readonly #paused = this.#gauge("paihao_queue_paused", "1 while a queue is paused, else 0", "queue");
  readonly #orphaned = this.#gauge(
    "paihao_queue_orphaned",
    "1 while no process has a handler for a queue that holds tasks, else 0",
    "queue",
  );
  readonly #resting = this.#gauge(
    "paihao_queue_resting",
    "1 while the gate of a queue lets nothing through, else 0",
    "queue",
  );
  readonly #ready = this.#gauge("paihao_ready", "1 if /readyz of this process answers 200, else 0");
  readonly #storeUp = this.#gauge("paihao_store_up", "1 if this process reaches the store, else 0");
  readonly #storeWritable = this.#gauge(
    "paihao_store_writable",
    "1 if the store took the last writes of this process, else 0",
  );
  readonly #storeUsed = this.#gauge("paihao_store_memory_used_bytes", "Memory that a server of the store uses", "node");
  readonly #storeMax = this.#gauge(
    "paihao_store_memory_max_bytes",
    "Maxmemory of a server of the store; absent without one",
    "node",
  );
  readonly #storePersists = this.#gauge(
    "paihao_store_persistence_ok",
    "1 if a server of the store made its last snapshot and its last write to the append-only file, else 0",
    "node",
  );
  readonly #storeReplicas = this.#gauge(
    "paihao_store_replicas",
    "Connected replicas of a server of the store that keep up",
    "node",
  );

  /** @param version that of the package */
  constructor(version = "") {
    this.#gauge("paihao_build_info", "1, with the version of this process", "version").set({ version }, 1);
    const answers = new Counter({
      name: "paihao_http_responses_total",
      help: "Answers to requests, by the class of their status; not of /healthz, /readyz and /metrics",
      labelNames: ["status"],
      registers: [this.registry],
    });
    this.#answers = STATUS_CLASSES.map((status) => answers.labels({ status }));
    for (const status of STATUS_CLASSES) answers.inc({ status }, 0);
  }

  #gauge(name: string, help: string, ...labelNames: string[]): Gauge {
    return new Gauge({
      ...{ name, help, labelNames, aggregator: TOGETHER[name] ?? "max", registers: [this.registry] },
      collect: () => this.#refresh(),
    });
  }

  /** Sets from where the gauges are read at each scrape. */
  readGaugesWith(read: () => Promise<Gauges>): void {
    this.#read = read;
  }

  /** Reads the gauges, once for all of them. */
  #refresh(): Promise<void> {
    this.#refreshing ??= (async () => {
      if (this.#read && !this.#isFresh) await this.show(await this.#read());
    })().finally(() => {
      this.#refreshing = undefined;
    });
    return this.#refreshing;
  }

  /**
   * Shows all counters of a queue with a handler here at 0: a counter that appears with its first event shows no increase, so no alert
   * would see that event.
   */
  begin(queue: string): void {
    for (const counter of [this.submissions, this.endings, this.lost, this.estimates]) counter.begin(queue);
    this.stuck.inc({ queue }, 0);
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

  /** Sets the gauges. Those of a store that cannot be reached are left out: old ones would look like current ones. */
  async show({ ready, writable, queues, nodes }: Gauges): Promise<void> {
    this.#ready.set(ready ? 1 : 0);
    this.#storeUp.set(queues === null ? 0 : 1);
    this.#storeWritable.set(writable ? 1 : 0);
    for (const gauge of [this.#storeUsed, this.#storeMax, this.#storePersists, this.#storeReplicas]) gauge.reset();
    for (const { node, usedBytes, maxBytes, persists, replicas } of nodes) {
      this.#storeUsed.set({ node }, usedBytes);
      if (maxBytes !== null) this.#storeMax.set({ node }, maxBytes);
      this.#storePersists.set({ node }, persists ? 1 : 0);
      this.#storeReplicas.set({ node }, replicas);
    }
    const perQueue = [
      this.#tasks,
      this.#workers,
      this.#slots,
      this.#slotsWanted,
      this.#oldest,
      this.#late,
      this.#paused,
      this.#orphaned,
      this.#resting,
    ];
    for (const gauge of perQueue) gauge.reset();
    const portions = new Portions();
    for (const { queue, waiting, scheduled, running, dead, ...figures } of queues ?? []) {
      await portions.pause();
      for (const [state, count] of Object.entries({ waiting, scheduled, running, dead })) {
        this.#tasks.set({ queue, state }, count);
      }
      this.#workers.set({ queue }, figures.workers);
      this.#slots.set({ queue }, figures.slots);
      this.#oldest.set({ queue }, (figures.oldestWaitingMs ?? 0) / 1000);
      this.#late.set({ queue }, (figures.lateMs ?? 0) / 1000);
      this.#paused.set({ queue }, figures.paused ? 1 : 0);
      this.#orphaned.set({ queue }, figures.orphaned ? 1 : 0);
      if (figures.resting !== null) this.#resting.set({ queue }, figures.resting ? 1 : 0);
      if (figures.slotsWanted !== null) this.#slotsWanted.set({ queue }, figures.slotsWanted);
    }
  }

  /** Lets the parent of this process put them together with those of other processes. */
  share(): void {
    AggregatorRegistry.setRegistries(processRegistry ? [this.registry, processRegistry] : [this.registry]);
  }

  /** The metrics as text, for all who ask at the same time. */
  exposition(): Promise<string> {
    this.#exposing ??= this.#expose().finally(() => {
      this.#isFresh = false;
      this.#exposing = undefined;
    });
    return this.#exposing;
  }

  /** One metric after the other, in portions: with thousands of queues each is long. */
  async #expose(): Promise<string> {
    await this.#refresh();
    this.#isFresh = true;
    const texts: string[] = [];
    const portions = new Portions();
    for (const { name } of this.registry.getMetricsAsArray()) {
      texts.push(await this.registry.getSingleMetricAsString(name));
      await portions.pause();
    }
    return `${texts.join("\n\n")}\n${(await processRegistry?.metrics()) ?? ""}`;
  }
}
