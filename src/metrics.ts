import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";

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
  /** Null if none waits. */
  readonly oldestWaitingMs: number | null;
  /** Null if it is no gateway. */
  readonly resting: boolean | null;
  /** Null if the handler has no target wait, or if unknown. */
  readonly slotsWanted: number | null;
}

/** What a server of the store reports of itself. */
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

/** What is read when the metrics are: the same in every process, but for `ready`. */
export interface Gauges {
  /** What /readyz says. */
  readonly ready: boolean;
  /** Whether the store took the writes of the last tick. */
  readonly writable: boolean;
  /** Null if the store cannot be reached. */
  readonly queues: readonly QueueGauges[] | null;
  readonly nodes: readonly StoreNode[];
}

/** Of answers to requests, as the semantic conventions of OpenTelemetry advise, and 30 for long polls. */
const REQUEST_BUCKETS_S = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 30];
/** Of handlers, which may take minutes. */
const ATTEMPT_BUCKETS_S = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800];

/** The children of a metric below some of its labels: by the next one, down to those of all labels. */
interface ChildNode<Child> {
  readonly below: Map<string, ChildNode<Child>>;
  child?: Child;
}

/**
 * A child of a metric for each combination of labels, looked up only once, since some change with every task. Label by label: to join them
 * to one key takes longer than three look-ups.
 */
class Children<Child> {
  readonly #make: (labels: readonly string[]) => Child;
  readonly #root: ChildNode<Child> = { below: new Map() };

  constructor(make: (labels: readonly string[]) => Child) {
    this.#make = make;
  }

  of(...labels: readonly string[]): Child {
    let node = this.#root;
    for (const label of labels) {
      let next = node.below.get(label);
      if (next === undefined) {
        next = { below: new Map() };
        node.below.set(label, next);
      }
      node = next;
    }
    node.child ??= this.#make(labels);
    return node.child;
  }
}

/** A counter with the labels queue and one word. */
class WordCounter<Word extends string> {
  readonly #children: Children<{ inc(by: number): void }>;

  constructor(registry: Registry, name: string, help: string, label: string) {
    const counter = new Counter({ name, help, labelNames: ["queue", label], registers: [registry] });
    this.#children = new Children((labels) => counter.labels(...labels));
  }

  count(queue: string, word: Word, by = 1): void {
    this.#children.of(queue, word).inc(by);
  }
}

/** Durations, with any labels. */
class Durations {
  readonly #children: Children<{ observe(seconds: number): void }>;

  constructor(registry: Registry, name: string, help: string, labelNames: string[], buckets: number[]) {
    const histogram = new Histogram({ name, help, labelNames, buckets, registers: [registry] });
    this.#children = new Children((labels) => histogram.labels(...labels));
  }

  observe(ms: number, ...labels: readonly string[]): void {
    this.#children.of(...labels).observe(ms / 1000);
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
    "Submissions to this process, by the verdict of the store or the code of its error; not-durable ones are counted in addition",
    "verdict",
  );
  readonly endings = new WordCounter<string>(
    this.registry,
    "paihao_attempts_total",
    "Ended attempts that this process reported, by the verdict of the store",
    "ending",
  );
  readonly attempts = new Durations(
    this.registry,
    "paihao_attempt_duration_seconds",
    "How long handlers ran in this process, by how they ended",
    ["queue", "end"],
    ATTEMPT_BUCKETS_S,
  );
  readonly requests = new Durations(
    this.registry,
    "paihao_http_request_duration_seconds",
    "Time until the answer to a request began, by method, route and status; the time that a synchronous caller waited included",
    ["method", "route", "status"],
    REQUEST_BUCKETS_S,
  );
  readonly lost = new WordCounter<string>(
    this.registry,
    "paihao_lost_tasks_total",
    "Tasks whose lease ended without a word of their worker, found by this process, by what happened to them",
    "fate",
  );
  readonly estimates = new WordCounter<"within" | "sooner" | "later">(
    this.registry,
    "paihao_estimates_total",
    "A sample of the estimates, by whether the task started within the estimated range, sooner or later",
    "start",
  );
  readonly stuck = new Counter({
    name: "paihao_handlers_stuck_total",
    help: "Handlers that ignored their signal for so long that this process has to end, of queues with undos or keys",
    labelNames: ["queue"],
    registers: [this.registry],
  });
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
    "Slots that would start a new task of a queue within its targetWait; absent without one, or if unknown",
    "queue",
  );
  readonly #oldest = this.#gauge(
    "paihao_queue_oldest_wait_seconds",
    "Age of the first task in line, 0 if none waits",
    "queue",
  );
  readonly #paused = this.#gauge("paihao_queue_paused", "1 while a queue is paused, else 0", "queue");
  readonly #resting = this.#gauge(
    "paihao_queue_resting",
    "1 while the queue of a gateway rests because its API is down, else 0",
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
  }

  #gauge(name: string, help: string, ...labelNames: string[]): Gauge {
    return new Gauge({ name, help, labelNames, registers: [this.registry] });
  }

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
    this.#overdue.inc({ queue }, by);
  }

  /** Begins to observe the process, whose metrics then follow those of the server. */
  observeProcess(): void {
    if (processRegistry !== undefined) return;
    processRegistry = new Registry();
    collectDefaultMetrics({ register: processRegistry });
  }

  /** Sets the gauges. Those of a store that cannot be reached are left out: old ones would look like current ones. */
  show({ ready, writable, queues, nodes }: Gauges): void {
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
      this.#paused,
      this.#resting,
    ];
    for (const gauge of perQueue) gauge.reset();
    for (const { queue, waiting, scheduled, running, dead, ...figures } of queues ?? []) {
      for (const [state, count] of Object.entries({ waiting, scheduled, running, dead })) {
        this.#tasks.set({ queue, state }, count);
      }
      this.#workers.set({ queue }, figures.workers);
      this.#slots.set({ queue }, figures.slots);
      this.#oldest.set({ queue }, (figures.oldestWaitingMs ?? 0) / 1000);
      this.#paused.set({ queue }, figures.paused ? 1 : 0);
      if (figures.resting !== null) this.#resting.set({ queue }, figures.resting ? 1 : 0);
      if (figures.slotsWanted !== null) this.#slotsWanted.set({ queue }, figures.slotsWanted);
    }
  }

  /** The metrics as text. */
  async exposition(): Promise<string> {
    return `${await this.registry.metrics()}${(await processRegistry?.metrics()) ?? ""}`;
  }
}
