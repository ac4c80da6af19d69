import { setTimeout as delay } from "node:timers/promises";
import { type Config, readConfig } from "../../src/config/config.ts";
import type { Engine } from "../../src/engine/engine.ts";
import { verify } from "../../src/engine/maintenance/verify.ts";
import { openEngine } from "../../src/engine/opening/open.ts";
import { defineHandler, type Handler } from "../../src/handler/define.ts";
import { createLog, type Logger } from "../../src/log.ts";
import { type Connection, connect } from "../../src/store/connection.ts";
import { Keys } from "../../src/store/keys.ts";
import { type Scripts, scriptsOf } from "../../src/store/verbs/scripts.ts";
import { Ticker } from "../../src/workers/ticker.ts";
import { Worker } from "../../src/workers/worker.ts";
import type { HistoryEntry } from "../chaos/history/history.ts";
import { randomOf } from "../shared/random.ts";
import { Network } from "./network.ts";
import { SimulatedStore } from "./store.ts";
import { type Process, VirtualTime } from "./virtual-time.ts";

/** The input of a task. */
export interface Work {
  readonly ms: number;
  /** How many runs fail before one succeeds. */
  readonly failures: number;
  /** Whether a step is stored on the way. */
  readonly step: boolean;
}

const QUEUES = ["work", "keyed"] as const;
const URL = "redis://store:6379";
/** How long after a failed start the supervisor tries again. */
const RESTART_MS = 1000;
/** How long a process may take to stop before it is killed, ms. */
const STOP_MS = 30_000;

/** An API or a worker: a succession of processes. */
export class Machine {
  readonly role: "api" | "worker";
  readonly #world: World;
  readonly #name: string;
  process: Process;
  /** Undefined while its process is not ready. */
  engine: Engine | undefined;
  #stop: (() => Promise<unknown>) | undefined;

  constructor(world: World, role: "api" | "worker", name: string) {
    this.role = role;
    this.#world = world;
    this.#name = name;
    this.process = world.newProcess(name);
    this.#boot();
  }

  /** Starts a new process in place of one that has ended. */
  start(): void {
    if (!this.process.isDead) return;
    this.process = this.#world.newProcess(this.#name);
    this.#boot();
  }

  #boot(): void {
    const { process } = this;
    const { time, log, config } = this.#world;
    const open = async () => {
      const handlers = new Map(handlersOf(this.#world).map((handler) => [handler.queue, handler]));
      const { engine, close } = await openEngine(config, URL, handlers.values(), log);
      const ticker = new Ticker(engine, log);
      ticker.start();
      const worker = this.role === "worker" ? new Worker({ engine, handlers, log, ...config }) : undefined;
      this.engine = engine;
      this.#stop = async () => {
        await worker?.stop();
        await ticker.stop();
        close();
      };
      await worker?.start();
    };
    time.in(process, open).catch((error: unknown) => {
      log.warn({ err: error }, "could not start; trying again");
      this.kill();
      time.plan(this.#world.supervisor, RESTART_MS, () => this.start());
    });
  }

  /** Kills its process: none of its pending events happens any more. */
  kill(): void {
    this.engine = undefined;
    this.#stop = undefined;
    this.process.isDead = true;
    this.#world.network.leave(this.process);
  }

  /** Stops its process as SIGTERM would. */
  async stop(): Promise<void> {
    const stop = this.#stop;
    this.engine = undefined;
    if (stop) await Promise.race([this.#world.time.in(this.process, stop), delay(STOP_MS)]);
    this.kill();
  }
}

/** A simulated deployment: an API, two workers, the store and the network between them. */
export class World {
  readonly time: VirtualTime;
  readonly network: Network;
  readonly store: SimulatedStore;
  /** The random numbers of faults and callers. */
  readonly chance: () => number;
  readonly log: Logger;
  readonly config: Config;
  readonly keys: Keys;
  /** What callers and handlers saw. */
  readonly history: HistoryEntry[] = [];
  /** How often each task has run. */
  readonly runs = new Map<string, number>();
  /** The process of callers and of the supervisor, which has no faults. */
  readonly supervisor: Process;
  machines: readonly Machine[] = [];
  #pids = 0;
  #observer: Observer | undefined;

  /** @param write gets the lines of the log; undefined: no log */
  constructor(seed: number, write?: (line: string) => void) {
    this.chance = randomOf(seed);
    this.config = readConfig({}, { DRAIN_TIMEOUT: "10s", PARTITIONS: seed % 2 === 0 ? "2" : "1" });
    this.keys = new Keys(this.config.keyPrefix, this.config.partitions);
    const time = new VirtualTime(randomOf(seed + 1e9));
    this.time = time;
    this.supervisor = this.newProcess("supervisor");
    this.network = new Network(time, randomOf(seed + 2e9));
    this.store = new SimulatedStore(time, this.newProcess("store"), randomOf(seed + 3e9));
    const named = (line: string) => {
      const { level: _, time: at, pid: __, msg, ...more } = JSON.parse(line);
      write?.(`${at.slice(11, 23)} ${time.process.name.padEnd(12)} ${msg} ${JSON.stringify(more)}`);
    };
    this.log = createLog(write ? "debug" : "silent", { destination: { write: named } });
  }

  async start(): Promise<void> {
    this.time.install();
    this.network.install();
    await this.store.start();
    this.time.enter(this.supervisor);
    const roles = [["api", "api"] as const, ["worker", "worker-a"] as const, ["worker", "worker-b"] as const];
    this.machines = roles.map(([role, name]) => new Machine(this, role, name));
  }

  newProcess(name: string): Process {
    this.#pids += 1;
    return { name: `${name}.${this.#pids}`, pid: this.#pids, pausedUntil: 0, isDead: false };
  }

  /** The API. */
  get api(): Machine {
    const api = this.machines.find(({ role }) => role === "api");
    if (!api) throw new Error("the world was not started");
    return api;
  }

  /** What is left in the store although every task has ended. */
  async leftovers(): Promise<string[]> {
    const found: string[] = [];
    for (const queue of QUEUES)
      for (const index of ["waiting", "scheduled", "leases"] as const)
        for (const tag of this.keys.tags) {
          const count = await this.#observe(({ redis }) => redis.zcard(this.keys.index(tag, index, queue)));
          if (count > 0) found.push(`${count} tasks in ${index} of ${queue}`);
        }
    return [...found, ...(await this.disagreeing())];
  }

  /** The tasks that disagree with their index. */
  async disagreeing(): Promise<string[]> {
    const { disagreeing } = await this.#observe(({ redis, scripts }) =>
      verify(redis, scripts, this.keys, { heal: false }),
    );
    return disagreeing.map((id) => `${id} disagrees with its index`);
  }

  /** Asks the store until it answers: while it stands still, connections are replaced. */
  async #observe<T>(ask: (observer: Observer) => Promise<T>): Promise<T> {
    for (;;) {
      try {
        this.#observer ??= await this.#connect();
        return await ask(this.#observer);
      } catch {
        await delay(RESTART_MS);
      }
    }
  }

  async #connect(): Promise<Observer> {
    const redis = await connect(URL, "observer", this.log);
    return { redis, scripts: scriptsOf(redis) };
  }
}

/** A connection without faults. */
interface Observer {
  readonly redis: Connection;
  readonly scripts: Scripts;
}

/** Handlers whose runs are recorded outside of the store. */
function handlersOf(world: World): Handler[] {
  const { time, history, runs } = world;
  const { process } = time;
  return QUEUES.map((queue) =>
    defineHandler<Work & { key?: string }>({
      queue,
      lease: "3s",
      concurrency: 2,
      attempts: 3,
      // Workers are killed all the time here, and no task may become dead by that.
      maxLost: 1000,
      ...(queue === "keyed" && { keyed: { by: ({ key = null }) => key } }),
      run: async ({ ms, failures, step, key }, task) => {
        const { id, fence } = task;
        const mark = { id, queue, ...(key !== undefined && { key }), fence, pid: process.pid };
        const nth = (runs.get(id) ?? 0) + 1;
        runs.set(id, nth);
        history.push({ type: "begins", ...mark, at: time.nowMs });
        if (step) await task.step("stored", () => "x".repeat(300));
        // Ignores its signal, since the store must refuse a result that comes too late.
        await delay(ms);
        history.push({ type: "ends", ...mark, at: time.nowMs });
        if (nth <= failures) throw new Error("boom");
        return { fence };
      },
    }),
  ) as Handler[];
}
