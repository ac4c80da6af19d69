import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import type { Engine } from "../engine/engine.ts";
import type { Handler } from "../handler.ts";
import type { Logger } from "../log.ts";
import type { Role } from "../loop.ts";
import { Heartbeat } from "./heartbeat.ts";
import { Keeper } from "./keeper.ts";
import { Pool } from "./pool.ts";
import { Runner } from "./runner.ts";

/** What a worker needs. */
export interface WorkerOptions {
  readonly engine: Engine;
  readonly handlers: ReadonlyMap<string, Handler>;
  readonly log: Logger;
  readonly maxResultBytes: number;
  /** How long running tasks may go on after {@link Worker.stop}, ms; then they are handed back. */
  readonly drainTimeoutMs: number;
}

/** Time for handlers to settle once their signal has fired at the end of the drain, ms. */
const SETTLE_MS = 500;

/** A worker process's work: slots of every queue, leases kept, and a heartbeat. */
export class Worker implements Role {
  /** Unique to this start of this process. */
  readonly id = `${hostname()}:${process.pid}:${randomUUID().slice(0, 8)}`;
  readonly #options: WorkerOptions;
  readonly #pools: readonly Pool[];
  readonly #keeper: Keeper;
  readonly #heartbeat: Heartbeat;
  #stopped: Promise<void> | undefined;

  constructor(options: WorkerOptions) {
    const { engine, log, maxResultBytes } = options;
    this.#options = options;
    this.#keeper = new Keeper(engine, log);
    const runner = new Runner({ engine, keeper: this.#keeper, log, maxResultBytes });
    this.#pools = [...options.handlers.values()].map(
      (handler) => new Pool(this.id, handler, { engine, runner, keeper: this.#keeper, log }),
    );
    const slots = new Map(this.#pools.map((pool) => [pool.queue, pool.slots]));
    this.#heartbeat = new Heartbeat(engine, this.id, slots, log);
  }

  async start(): Promise<void> {
    this.#heartbeat.start();
    this.#keeper.start();
    await Promise.all(this.#pools.map((pool) => pool.start()));
  }

  /** Drains: takes no more work, lets what runs end within the drain timeout, hands the rest back to its old place. */
  stop(): Promise<void> {
    this.#stopped ??= this.#drain();
    return this.#stopped;
  }

  async #drain(): Promise<void> {
    const { log, drainTimeoutMs } = this.#options;
    await Promise.all(this.#pools.map((pool) => pool.stop()));
    if (this.#keeper.size > 0)
      log.info({ running: this.#keeper.size, drainTimeoutMs }, "waiting for running tasks to end");
    if (!(await this.#keeper.settled(drainTimeoutMs))) {
      log.warn(
        { running: this.#keeper.size },
        "the drain timeout is over: running tasks go back to their places in line",
      );
      this.#keeper.abort("shutdown");
      await this.#keeper.settled(SETTLE_MS);
      await this.#keeper.release();
    }
    await this.#keeper.stop();
    await this.#heartbeat.stop();
  }
}
