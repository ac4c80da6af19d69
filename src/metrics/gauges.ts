import { Gauge, type Registry } from "prom-client";
import { Portions } from "../portions.ts";

/** How gauges of several processes are combined, if not by the highest value: most are read from the store, and the same in all. */
const TOGETHER: Readonly<Record<string, "sum" | "min">> = {
  paihao_handlers_overdue: "sum",
  paihao_ready: "min",
  paihao_store_up: "min",
  paihao_store_writable: "min",
};

/** The figures of a queue for the gauges. */
interface QueueFigures {
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
  /** Null if it has no circuit breaker. */
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
export interface GaugeFigures {
  /** What /readyz says. */
  readonly ready: boolean;
  /** Whether the store took the writes of the last tick. */
  readonly writable: boolean;
  /** Null if the store cannot be reached. */
  readonly queues: readonly QueueFigures[] | null;
  readonly nodes: readonly StoreNode[];
  /** What is wrong. */
  readonly incidents: readonly { readonly kind: string; readonly level: string; readonly queue: string | null }[];
}

/** A gauge: its name, its help, and its value; null where it has none. */
type Row<Figures> = readonly [name: string, help: string, figureOf: (of: Figures) => number | boolean | null];

const OF_PROCESS: readonly Row<GaugeFigures>[] = [
  ["paihao_ready", "1 if /readyz of this process answers 200, else 0", ({ ready }) => ready],
  ["paihao_store_up", "1 if this process reaches the store, else 0", ({ queues }) => queues !== null],
  ["paihao_store_writable", "1 if the store took the last writes of this process, else 0", ({ writable }) => writable],
];

const OF_NODE: readonly Row<StoreNode>[] = [
  ["paihao_store_memory_used_bytes", "Memory that a server of the store uses", ({ usedBytes }) => usedBytes],
  [
    "paihao_store_memory_max_bytes",
    "Maxmemory of a server of the store; absent without one",
    ({ maxBytes }) => maxBytes,
  ],
  [
    "paihao_store_persistence_ok",
    "1 if a server of the store made its last snapshot and its last write to the append-only file, else 0",
    ({ persists }) => persists,
  ],
  ["paihao_store_replicas", "Connected replicas of a server of the store that keep up", ({ replicas }) => replicas],
];

const OF_QUEUE: readonly Row<QueueFigures>[] = [
  ["paihao_queue_workers", "Live workers of a queue", ({ workers }) => workers],
  ["paihao_queue_slots", "Slots of the live workers of a queue", ({ slots }) => slots],
  [
    "paihao_queue_slots_wanted",
    "Slots that would start a new task of a queue within its targetWait, 0 without work; absent if unknown",
    ({ slotsWanted }) => slotsWanted,
  ],
  [
    "paihao_queue_oldest_wait_seconds",
    "Age of the first task in line, 0 if none waits",
    ({ oldestWaitingMs }) => (oldestWaitingMs ?? 0) / 1000,
  ],
  [
    "paihao_queue_scheduled_late_seconds",
    "How long the first scheduled or retrying task has been due without joining the line, 0 if none is due",
    ({ lateMs }) => (lateMs ?? 0) / 1000,
  ],
  ["paihao_queue_paused", "1 while a queue is paused, else 0", ({ paused }) => paused],
  [
    "paihao_queue_orphaned",
    "1 while no process has a handler for a queue that holds tasks, else 0",
    ({ orphaned }) => orphaned,
  ],
  [
    "paihao_queue_resting",
    "1 while the circuit breaker of a queue lets nothing through, else 0",
    ({ resting }) => resting,
  ],
];

const STATES = ["waiting", "scheduled", "running", "dead"] as const;

/** The gauges that are read together, at each scrape. */
export class Gauges {
  readonly #registry: Registry;
  readonly #process: readonly Shown<GaugeFigures>[];
  readonly #nodes: readonly Shown<StoreNode>[];
  readonly #queues: readonly Shown<QueueFigures>[];
  readonly #tasks: Gauge;
  readonly #incidents: Gauge;
  #read: (() => Promise<GaugeFigures>) | undefined;
  #refreshing: Promise<void> | undefined;
  /** Whether they are not read again, since they have just been read for the text that is made. */
  kept = false;

  constructor(registry: Registry) {
    this.#registry = registry;
    const shown = <Figures>(rows: readonly Row<Figures>[], ...labels: string[]): Shown<Figures>[] =>
      rows.map(([name, help, figureOf]) => ({ gauge: this.add(name, help, ...labels), figureOf }));
    this.#tasks = this.add("paihao_queue_tasks", "Tasks of a queue, by state", "queue", "state");
    this.#incidents = this.add(
      "paihao_incident",
      "1 while something is wrong, as /v1/incidents says it",
      ...["kind", "level", "queue"],
    );
    this.#process = shown(OF_PROCESS);
    this.#nodes = shown(OF_NODE, "node");
    this.#queues = shown(OF_QUEUE, "queue");
  }

  /** Adds a gauge, before whose values are told all are read. */
  add(name: string, help: string, ...labelNames: string[]): Gauge {
    return new Gauge({
      ...{ name, help, labelNames, aggregator: TOGETHER[name] ?? "max", registers: [this.#registry] },
      collect: () => this.refresh(),
    });
  }

  /** Sets from where they are read. */
  readWith(read: () => Promise<GaugeFigures>): void {
    this.#read = read;
  }

  /** Reads them, once for all. */
  refresh(): Promise<void> {
    this.#refreshing ??= (async () => {
      if (this.#read && !this.kept) await this.show(await this.#read());
    })().finally(() => {
      this.#refreshing = undefined;
    });
    return this.#refreshing;
  }

  /** Sets them. Those of a store that cannot be reached are left out: old ones would look like current ones. */
  async show(figures: GaugeFigures): Promise<void> {
    for (const { gauge } of [...this.#nodes, ...this.#queues]) gauge.reset();
    for (const gauge of [this.#tasks, this.#incidents]) gauge.reset();
    for (const { kind, level, queue } of figures.incidents) this.#incidents.set({ kind, level, queue: queue ?? "" }, 1);
    set(this.#process, {}, figures);
    for (const node of figures.nodes) set(this.#nodes, { node: node.node }, node);
    const portions = new Portions();
    for (const of of figures.queues ?? []) {
      await portions.pause();
      for (const state of STATES) this.#tasks.set({ queue: of.queue, state }, of[state]);
      set(this.#queues, { queue: of.queue }, of);
    }
  }
}

interface Shown<Figures> {
  readonly gauge: Gauge;
  readonly figureOf: Row<Figures>[2];
}

function set<Figures>(
  all: readonly Shown<Figures>[],
  labels: Readonly<Record<string, string>>,
  figures: Figures,
): void {
  for (const { gauge, figureOf } of all) {
    const value = figureOf(figures);
    if (value !== null) gauge.set(labels, Number(value));
  }
}
