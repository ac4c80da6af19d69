import { setTimeout as delay } from "node:timers/promises";
import { type Config, readConfig } from "../../../src/config/config.ts";
import type { Engine } from "../../../src/engine/engine.ts";
import { openEngine } from "../../../src/engine/upkeep/boot.ts";
import { watchedTasks } from "../../../src/engine/watch/watch.ts";
import { Watchers } from "../../../src/engine/watch/watchers.ts";
import { defineHandler, type Handler } from "../../../src/handler/define.ts";
import { attemptsOf } from "../../../src/http/task/timeline.ts";
import { createLog, type Logger } from "../../../src/log.ts";
import { withTimeout } from "../../../src/net/deadline.ts";
import { connect } from "../../../src/store/connection.ts";
import { Keys } from "../../../src/store/keys.ts";
import { scriptsOf } from "../../../src/store/library/scripts.ts";
import { isOutcome } from "../../../src/task.ts";
import { Ticker } from "../../../src/workers/ticker.ts";
import { Worker } from "../../../src/workers/worker.ts";
import { randomOf } from "../../shared/random.ts";
import { submissionOf } from "../../shared/submission.ts";
import type { Deployment, Order, Subject } from "../callers.ts";
import { toldByState } from "../history/answer.ts";
import { type CallAnswer, type HistoryEntry, handBackIn } from "../history/history.ts";
import { disagreeing, leftovers, type Observer } from "../leftovers.ts";
import { type Work, work } from "../work.ts";
import { Network } from "./network.ts";
import { SimulatedStore } from "./store.ts";
import { type Process, VirtualTime } from "./virtual-time.ts";

const QUEUES = ["work", "keyed"] as const;
const URL = "redis://store:6379";
/** How long after a failed start the supervisor tries again. */
const RESTART_MS = 1000;
/** How long a process may take to stop before it is killed, ms. */
const STOP_MS = 30_000;
/** How long a caller waits for an answer, ms. */
const PATIENCE_MS = 10_000;

/** An API or a worker: a succession of processes. */
export class Machine {
  readonly role: "api" | "worker";
  readonly #world: World;
  readonly #name: string;
  process: Process;
  /** Undefined while its process is not ready. */
  engine: Engine | undefined;
  watchers: Watchers | undefined;
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
      this.watchers = new Watchers(watchedTasks(engine));
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
export class World implements Deployment {
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
      const handBack = handBackIn(line);
      if (handBack) this.history.push(handBack);
      if (!write) return;
      const { level: _, time: at, pid: __, msg, ...more } = JSON.parse(line);
      write(`${at.slice(11, 23)} ${time.process.name.padEnd(12)} ${msg} ${JSON.stringify(more)}`);
    };
    this.log = createLog(write ? "debug" : "info", { destination: { write: named } });
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

  nowMs(): number {
    return this.time.nowMs;
  }

  submit({ id, queue }: Subject, { work, waits: _, ...options }: Order): Promise<CallAnswer> {
    const submission = submissionOf(id, queue, JSON.stringify(work), { key: work.key ?? null, ...options });
    return this.#ask(async (engine) => {
      const { verdict, state, index } = await engine.submitter.submit(submission, engine.queues.settings(queue));
      if (verdict !== "new" && verdict !== "replay") return { outcome: "failed", answer: verdict };
      return { outcome: "ok", answer: verdict, told: toldByState(state), ...(index !== null && { index }) };
    });
  }

  ask(kind: "status" | "collect" | "timeline", { id }: Subject): Promise<CallAnswer> {
    return this.#ask(async (engine) => {
      const seen = await engine.inspector.inspect(id, { result: kind === "collect" });
      if (seen === null) return { outcome: "ok", answer: "unknown", told: "unknown" };
      const details = kind === "timeline" ? await engine.call("details", { id, queue: seen.queue }) : null;
      const body = seen.state === "succeeded" ? seen.result?.body : undefined;
      return {
        ...{ outcome: "ok", answer: seen.state, told: toldByState(seen.state) },
        ...(seen.index !== null && { index: seen.index }),
        ...(details && { starts: attemptsOf(seen, details, true).attempts.length }),
        ...(body && { fence: (JSON.parse(String(body)) as { fence: number }).fence }),
      };
    });
  }

  act(verb: "cancel" | "retry", { id, queue }: Subject): Promise<unknown> {
    return this.#ask((engine): Promise<unknown> => {
      return verb === "retry"
        ? engine.call("retry", { id, queue })
        : engine.call("cancel", { id, queue, only: "pending" });
    });
  }

  /** Waits however long it takes to be told: a task whose end nobody tells keeps the simulation from ending. */
  async watch(subject: Subject): Promise<void> {
    const { process, watchers } = this.#api;
    const watch = await this.#ask(() => watchers?.watch(subject) ?? Promise.reject());
    for (; watch.seen !== null && !isOutcome(watch.seen.state); await delay(RESTART_MS))
      if (process.isDead) throw new Error("the API is gone");
    watch.stop();
  }

  get #api(): Machine {
    const api = this.machines.find(({ role }) => role === "api");
    if (!api) throw new Error("the world was not started");
    return api;
  }

  /** The process may die meanwhile; then there is no answer. */
  #ask<T>(ask: (engine: Engine) => Promise<T>): Promise<T> {
    const { engine, process } = this.#api;
    if (!engine) return Promise.reject(new Error("connection refused"));
    const late = () => new Error("no answer");
    return withTimeout(
      PATIENCE_MS,
      this.time.in(process, () => ask(engine)),
      late,
    );
  }

  /** What is left in the store although every task has ended. */
  leftovers(): Promise<string[]> {
    return this.observe((observer) => leftovers(observer, QUEUES));
  }

  /** The tasks that disagree with their index. */
  disagreeing(): Promise<string[]> {
    return this.observe(disagreeing);
  }

  /** Asks the store until it answers: while it stands still, connections are replaced. */
  async observe<T>(ask: (observer: Observer) => Promise<T>): Promise<T> {
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
    return { redis, scripts: scriptsOf(redis), keys: this.keys };
  }
}

/** Handlers whose runs are recorded outside of the store. */
function handlersOf({ time, history }: World): Handler[] {
  const { pid } = time.process;
  return QUEUES.map((queue) =>
    defineHandler<Work>({
      queue,
      lease: "3s",
      concurrency: 2,
      attempts: 3,
      // Workers are killed all the time here, and no task may become dead by that.
      maxLost: 1000,
      ...(queue === "keyed" && { keyed: { by: ({ key = null }) => key } }),
      run: (input, task) => {
        const mark = { id: task.id, queue, ...(input.key !== undefined && { key: input.key }), fence: task.fence, pid };
        return work(input, task, (type) => history.push({ type, ...mark, at: time.nowMs }));
      },
    }),
  ) as Handler[];
}
