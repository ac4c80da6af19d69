import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import type { ServerRole } from "../config/variables.ts";
import type { Engine } from "../engine/engine.ts";
import type { Handler } from "../handler/define.ts";
import type { Logger } from "../log.ts";
import type { Role } from "../loop.ts";
import type { SlotBatch } from "../store/line/snapshot.ts";
import type { HeartbeatAnswer } from "../store/line/worker.ts";
import type { Tracing } from "../trace/tracing.ts";
import { packageVersion } from "../version.ts";
import type { Attempt } from "./attempt/attempt.ts";
import type { HandlerLimits } from "./attempt/task-context.ts";
import { Heartbeat } from "./heartbeat.ts";
import { LeaseRenewer } from "./lease-renewer.ts";
import { Pool } from "./pool.ts";
import { Runner } from "./runner.ts";
import { Executors } from "./sandbox/executors.ts";

/** The options of a worker. */
export interface WorkerOptions extends HandlerLimits {
  readonly engine: Engine;
  readonly handlers: ReadonlyMap<string, Handler>;
  readonly log: Logger;
  /** The role of its process, shown to operators. Default: all. */
  readonly role?: ServerRole;
  /** Undefined if nothing is traced. */
  readonly tracing?: Tracing | undefined;
  /** The directory that the handlers were loaded from, if any; child processes load them from it too. */
  readonly handlersDir?: string | undefined;
  /** The version of the handlers, as people see it. */
  readonly appVersion?: string | undefined;
  /**
   * How long running tasks may continue after {@link Worker.stop} before they are handed back, ms; also how long a handler may ignore its
   * signal, if its lease is not longer, before it counts as stuck.
   */
  readonly drainTimeoutMs: number;
  /** How long a handler may go on after its signal has fired, ms. Default: 2 s, and 0.5 s when its process stops. */
  readonly graceMs?: number;
}

/** After their signal fires at the end of the drain: time for handlers to end and for storing that, ms. */
const SETTLE_MS = 10_000;

/** The work of a worker process: the slots of every queue, lease renewal, and a heartbeat. */
export class Worker implements Role {
  /** Unique to this start of the process. */
  readonly id = `${hostname()}:${process.pid}:${randomUUID().slice(0, 8)}`;
  /** Resolves when a handler is stuck: it ignores its signal, and its task cannot go on before the process ends. */
  readonly stuck: Promise<void>;
  readonly #options: WorkerOptions;
  readonly #pools: readonly Pool[];
  readonly #renewer: LeaseRenewer;
  readonly #executors: Executors;
  readonly #heartbeat: Heartbeat;
  #stopped: Promise<void> | undefined;

  /** @throws StartError if a handler with isolate was not loaded from a file */
  constructor(options: WorkerOptions) {
    const { engine, handlers, handlersDir, log, tracing, graceMs, appVersion, maxResultBytes, maxOutputBytes } =
      options;
    const limits = { maxResultBytes, maxOutputBytes };
    this.#options = options;
    this.#renewer = new LeaseRenewer(engine, log);
    let tellStuck = () => {};
    this.stuck = new Promise((resolve) => {
      tellStuck = resolve;
    });
    const onStuck = (attempt: Attempt) => {
      const { lease, log, settings } = attempt;
      engine.metrics.stuck.inc({ queue: settings.queue });
      log.error(
        { requestId: lease.id, aborted: attempt.aborted },
        "worker: the handler still ignores its signal; its task waits until this process ends",
      );
      this.#renewer.noteStuck(attempt);
      tellStuck();
    };
    const { drainTimeoutMs } = options;
    this.#executors = new Executors({ handlers, handlersDir, limits, log, drainTimeoutMs, onStuck });
    const parts = { engine, renewer: this.#renewer, executors: this.#executors, log, tracing, limits, graceMs };
    // A queue without slots is left to workers over HTTP.
    const own = [...handlers.values()].filter(({ queue }) => engine.queues.settings(queue).concurrency > 0);
    this.#pools = own.map((handler) => {
      const settings = engine.queues.settings(handler.queue);
      return new Pool(this.id, handler, settings, new Runner(handler, settings, parts), parts, () =>
        this.#heartbeat.hurry(),
      );
    });
    const slots = () => new Map(this.#pools.map((pool) => [pool.queue, pool.slots]));
    const batches = new Map<string, SlotBatch>();
    for (const { queue, batch } of own) if (batch) batches.set(queue, batch);
    const onBeat = ({ quiet, concurrency }: HeartbeatAnswer) => {
      return this.#pools.filter((pool) => pool.resize(quiet ? 0 : concurrency.get(pool.queue))).length > 0;
    };
    const about = {
      ...({ kind: "process", host: hostname(), pid: process.pid, role: options.role ?? "all" } as const),
      ...{ version: packageVersion(), startedMs: Math.round(performance.timeOrigin) },
      ...(appVersion !== undefined && { app: appVersion }),
    };
    this.#heartbeat = new Heartbeat(engine, { worker: this.id, about, slots, batches, onBeat }, log);
  }

  async start(): Promise<void> {
    if (this.#stopped !== undefined) return;
    this.#renewer.start();
    await this.#heartbeat.start();
    if (this.#stopped !== undefined) return;
    await Promise.all(this.#pools.map((pool) => pool.start()));
  }

  /** How many tasks it runs. */
  get running(): number {
    return this.#renewer.size;
  }

  /** Drains: takes no more work, lets running tasks end within the drain timeout, and hands the rest back to their places. */
  stop(withinMs = this.#options.drainTimeoutMs): Promise<void> {
    this.#stopped ??= this.#drain(withinMs);
    return this.#stopped;
  }

  async #drain(drainTimeoutMs: number): Promise<void> {
    const { log } = this.#options;
    await Promise.all(this.#pools.map((pool) => pool.stop()));
    if (this.#renewer.size > 0)
      log.info({ running: this.#renewer.size, drainTimeoutMs }, "worker: waiting for running tasks to end");
    if (!(await this.#renewer.settled(drainTimeoutMs))) {
      log.warn(
        { running: this.#renewer.size },
        "worker: the drain timeout is over; running tasks go back to their places in line",
      );
      this.#renewer.abortAll("shutdown");
      await this.#renewer.settled(SETTLE_MS);
    }
    if (this.#renewer.size > 0)
      log.warn(
        { running: this.#renewer.size },
        "worker: some handlers continue until this process ends; their tasks run again when their leases have ended",
      );
    await this.#executors.stop();
    await this.#heartbeat.stop();
    // Last, since the process must end before the leases of handlers that still run.
    await this.#renewer.stop();
  }
}
