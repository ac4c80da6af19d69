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
/** From so many slots on, half of them are worth a call of their own. */
const MANY_SLOTS = 32;
/** Pause after a partition could not be asked, ms. */
const RETRY_MS = 500;

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
  /** Handlers that run. */
  #busy = 0;
  /** Tasks in hand: those whose handlers run, and those whose ends the store is being told. */
  #inHand = 0;
  /** The partition that is asked first, so that none is always last. */
  #first = 0;
  /** By partition, the reservation of a request that has not been answered: sent again, it brings the same tasks. */
  readonly #open = new Map<number, string>();
  /** The partitions that did not answer when they were last asked; it is said once. */
  readonly #silent = new Set<number>();
  #started = false;
  #stopped = false;
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
      onError: (error) => this.#log.error({ err: error }, "the pool stumbled; trying again"),
    });
  }

  async start(): Promise<void> {
    if (this.#started) return;
    this.#started = true;
    const { keys, notices } = this.#engine;
    const listening = keys.tags.map((_, partition) =>
      notices.listen(keys.workChannel(partition, this.queue), (message) => this.#notice(message)),
    );
    this.#unlisten = await Promise.all(listening);
    // It may have been stopped in the meantime.
    if (this.#stopped) this.#deafen();
    else this.#loop.start();
  }

  /** Takes no more work; what runs goes on. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#deafen();
    await this.#loop.stop();
  }

  #deafen(): void {
    for (const unlisten of this.#unlisten.splice(0)) unlisten();
  }

  #notice(message: string | null): void {
    if (message?.startsWith("cancel ")) this.#keeper.abort("canceled", message.slice("cancel ".length));
    else if (this.#free > 0) this.#loop.wake();
  }

  /** @returns ms until the next look where that is sooner than usual: the queue's rate allows more then, or the store is away */
  async #tick(): Promise<number | undefined> {
    const { partitions } = this.#engine.keys;
    let soonest: number | undefined;
    this.#first = (this.#first + 1) % partitions;
    for (let i = 0; i < partitions && this.#free > 0; i += 1) {
      const partition = (this.#first + i) % partitions;
      const pauseMs = await this.#takeFrom(partition).catch((error: unknown) => {
        // The other partitions may well answer.
        if (!this.#silent.has(partition))
          this.#log.warn({ partition, reason: reasonOf(error) }, "no work can be taken; trying again");
        this.#silent.add(partition);
        return RETRY_MS;
      });
      if (pauseMs > 0) soonest = Math.min(pauseMs, soonest ?? pauseMs);
    }
    return soonest;
  }

  /**
   * Takes from one partition until it is empty, every slot is busy, or the rate allows no more for the ms returned; where there
   * are others, no more than there are slots.
   */
  async #takeFrom(partition: number): Promise<number> {
    const most = this.#engine.keys.partitions === 1 ? Number.POSITIVE_INFINITY : this.slots;
    let total = 0;
    for (let asked = this.#ask(partition, this.#free); ; ) {
      const { tasks, waiting, pauseMs, takenAt } = await asked;
      // A request that is sent again brings what it brought at first, for which there may be too few slots by now.
      const taken = tasks.slice(0, this.#free);
      for (const task of tasks.slice(taken.length)) this.#handBack(task);
      const free = this.#free - taken.length;
      total += taken.length;
      const waits = waiting !== null && waiting > 0 && free > 0 && total < most && !this.#stopped;
      const limited = waits && tasks.length === 0 && pauseMs > 0;
      const more = waits && !limited;
      // Asked before these begin: the store works on it meanwhile.
      if (more) asked = this.#ask(partition, free);
      for (const task of taken) this.#run(task, takenAt);
      if (!more) return limited ? pauseMs : 0;
    }
  }

  /** Asks for tasks: for half of many slots at most, so that there is always something to run while the store looks for more. */
  async #ask(partition: number, free: number) {
    const reservation = this.#open.get(partition) ?? randomUUID();
    this.#open.set(partition, reservation);
    const takenAt = performance.now();
    const reserved = await this.#engine.reserve(partition, {
      queue: this.queue,
      worker: this.#worker,
      reservation,
      count: Math.min(free, this.slots < MANY_SLOTS ? this.slots : Math.ceil(this.slots / 2)),
      leaseMs: this.#settings.leaseMs,
      rate: this.#settings.rate,
    });
    this.#open.delete(partition);
    this.#silent.delete(partition);
    return { ...reserved, takenAt };
  }

  /**
   * How many tasks can be taken. A slot is free as soon as its handler has ended; but while the store cannot be told of the ends,
   * no more than as many again are taken.
   */
  get #free(): number {
    return Math.max(0, Math.min(this.slots - this.#busy, 2 * this.slots - this.#inHand));
  }

  #run(task: Reserved, takenAt: number): void {
    this.#busy += 1;
    this.#inHand += 1;
    let free = false;
    const settled = () => {
      if (free) return;
      free = true;
      this.#busy -= 1;
      this.#loop.wake();
    };
    void this.#runner.run(task, this.#handler, this.#settings, takenAt, settled).then(() => {
      this.#inHand -= 1;
      if (this.#free === 1) this.#loop.wake();
    });
  }

  #handBack(task: Reserved): void {
    const lease = { queue: this.queue, id: task.id, fence: task.fence };
    this.#engine.finisher.release(lease, this.#settings).catch((error: unknown) => {
      this.#log.warn({ requestId: task.id, reason: reasonOf(error) }, "not handed back: it waits until its lease ends");
    });
  }
}
