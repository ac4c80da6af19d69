import { randomUUID } from "node:crypto";
import type { Engine } from "../engine/engine.ts";
import type { QueueSettings } from "../engine/settings.ts";
import { reasonOf } from "../errors.ts";
import type { Handler } from "../handler.ts";
import type { Logger } from "../log.ts";
import { Loop, type Role } from "../loop.ts";
import type { Reserved } from "../store/scripts.ts";
import type { Keeper } from "./keeper.ts";
import type { Runner } from "./runner.ts";

/** How often an idle pool looks for work that nobody announced, ms. */
const POLL_MS = 2000;

/** The slots of one queue in one worker process: takes as many tasks as it has free slots, and runs them. */
export class Pool implements Role {
  readonly queue: string;
  readonly slots: number;
  readonly #worker: string;
  readonly #handler: Handler;
  readonly #settings: QueueSettings;
  readonly #engine: Engine;
  readonly #runner: Runner;
  readonly #keeper: Keeper;
  readonly #log: Logger;
  readonly #loop: Loop;
  #busy = 0;
  /** The partition that is asked first, so that none is always last. */
  #first = 0;
  /** The reservation of a request that has not been answered: sent again, it brings the same tasks. */
  #open = new Map<number, { reservation: string; count: number }>();
  #unlisten: (() => void)[] = [];

  constructor(
    worker: string,
    handler: Handler,
    parts: { engine: Engine; runner: Runner; keeper: Keeper; log: Logger },
  ) {
    const settings = parts.engine.settings(handler.queue);
    this.queue = handler.queue;
    this.slots = settings.concurrency;
    this.#worker = worker;
    this.#handler = handler;
    this.#settings = settings;
    this.#engine = parts.engine;
    this.#runner = parts.runner;
    this.#keeper = parts.keeper;
    this.#log = parts.log.child({ queue: handler.queue });
    this.#loop = new Loop({
      intervalMs: POLL_MS,
      tick: () => this.#tick(),
      onError: (error) => this.#log.warn({ reason: reasonOf(error) }, "no work could be taken; trying again"),
    });
  }

  async start(): Promise<void> {
    const { keys, notices } = this.#engine;
    this.#unlisten = await Promise.all(
      keys.tags.map((_, partition) =>
        notices.listen(keys.workChannel(partition, this.queue), (message) => this.#notice(message)),
      ),
    );
    this.#loop.start();
  }

  /** Takes no more work; what runs goes on. */
  async stop(): Promise<void> {
    for (const unlisten of this.#unlisten.splice(0)) unlisten();
    await this.#loop.stop();
  }

  #notice(message: string | null): void {
    if (message?.startsWith("cancel ")) this.#keeper.abort("canceled", message.slice("cancel ".length));
    else if (this.#busy < this.slots) this.#loop.wake();
  }

  /** @returns ms until the queue's rate allows more, where that is what holds it up */
  async #tick(): Promise<number | undefined> {
    const { partitions } = this.#engine.keys;
    let soonest: number | undefined;
    this.#first = (this.#first + 1) % partitions;
    for (let i = 0; i < partitions && this.#busy < this.slots; i += 1) {
      const pauseMs = await this.#takeFrom((this.#first + i) % partitions);
      if (pauseMs > 0) soonest = Math.min(pauseMs, soonest ?? pauseMs);
    }
    return soonest;
  }

  /** Takes from one partition until it is empty, every slot is busy, or the rate allows no more for the ms returned. */
  async #takeFrom(partition: number): Promise<number> {
    for (;;) {
      const request = this.#open.get(partition) ?? { reservation: randomUUID(), count: this.slots - this.#busy };
      this.#open.set(partition, request);
      const { tasks, waiting, pauseMs } = await this.#engine.reserve(partition, {
        queue: this.queue,
        worker: this.#worker,
        leaseMs: this.#settings.leaseMs,
        rate: this.#settings.rate,
        ...request,
      });
      this.#open.delete(partition);
      for (const task of tasks) void this.#run(task);
      if (waiting === null || waiting === 0 || this.#busy >= this.slots) return 0;
      if (tasks.length === 0) return pauseMs;
    }
  }

  async #run(task: Reserved): Promise<void> {
    this.#busy += 1;
    await this.#runner.run(task, this.#handler, this.#settings);
    this.#busy -= 1;
    this.#loop.wake();
  }
}
