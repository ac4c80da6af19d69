import { failureOf } from "../engine/attempt/attempt-end.ts";
import type { Engine } from "../engine/engine.ts";
import type { QueueSettings } from "../engine/settings.ts";
import { reasonOf } from "../errors.ts";
import type { Handler } from "../handler/define.ts";
import { MOST_OF_A_BATCH } from "../handler/options.ts";
import type { Logger } from "../log.ts";
import type { Role } from "../loop.ts";
import { SHARED } from "../store/constants.ts";
import type { Standby } from "../store/standby.ts";
import type { ReservedTask } from "../store/verbs/scripts.ts";
import type { ClaimSlot } from "./attempt/attempt.ts";
import { BatchCall } from "./batch-call.ts";
import type { LeaseRenewer } from "./lease-renewer.ts";
import type { Occupancy } from "./occupancy.ts";
import type { Runner } from "./runner.ts";
import type { Children } from "./sandbox/children.ts";
import type { Executors } from "./sandbox/executors.ts";
import { suspectLeaseMs } from "./suspects.ts";
import { type Slots, Taker } from "./taker.ts";

/** From this many slots on, splitting them over two requests is worthwhile. */
const MANY_SLOTS = 16;
/** Requests for tasks that are underway at once if there are many slots: the store works on one while the other travels. See lua/reservation.lua. */
const LANES = 2;

/** When a suspect without a child process is reserved again, ms: at the earliest, and after the previous suspect. */
const PUT_OFF_MS = { min: 500, each: 10 } as const;

/**
 * The slots of one queue in one worker process: reserves as many tasks as it has free slots, and runs them. A slot has one task, or one call
 * with several if the handler has `batch`.
 */
export class Pool implements Role, Slots {
  readonly queue: string;
  readonly slots: number;
  readonly capacity: number;
  readonly left: number[] = [];
  readonly news: boolean[] = [];
  readonly #handler: Handler;
  readonly #settings: QueueSettings;
  readonly #engine: Engine;
  readonly #runner: Runner;
  readonly #executors: Executors;
  readonly #renewer: LeaseRenewer;
  readonly #occupancy: Occupancy;
  readonly #log: Logger;
  /** Runs suspects outside of this process; undefined if they run in it. */
  readonly #suspects: Children | undefined;
  readonly #takers: readonly Taker[];
  /** Most tasks of a slot. */
  readonly #perSlot: number;
  /** The call that tasks may join, or the last one. */
  #call: BatchCall | undefined;
  /** Running handlers. */
  #busy = 0;
  /** Abandoned handlers, which continue after their signal. */
  #overdue = 0;
  /** Running handlers, and those of whose tasks some end is being reported to the store. */
  #inHand = 0;
  /** Tasks that were requested. */
  #claimed = 0;
  /** When the last postponed suspect is due, monotonic ms. */
  #putOffUntil = 0;
  #started = false;
  #stopped = false;
  #unlisten: (() => void)[] = [];
  #standby: Standby | undefined;

  constructor(
    worker: string,
    handler: Handler,
    parts: {
      engine: Engine;
      runner: Runner;
      renewer: LeaseRenewer;
      executors: Executors;
      occupancy: Occupancy;
      log: Logger;
    },
  ) {
    const settings = parts.engine.queues.settings(handler.queue);
    this.queue = handler.queue;
    this.slots = settings.concurrency;
    this.#perSlot = settings.batch?.max ?? 1;
    this.capacity = this.slots * this.#perSlot;
    this.#handler = handler;
    this.#settings = settings;
    this.#engine = parts.engine;
    this.#runner = parts.runner;
    this.#executors = parts.executors;
    this.#renewer = parts.renewer;
    this.#occupancy = parts.occupancy;
    this.#occupancy.onRelease(() => this.#wake());
    this.#log = parts.log.child({ queue: handler.queue });
    this.#suspects = parts.executors.suspectsOf(handler.queue);
    const suspectLease = this.#suspects && suspectLeaseMs(settings);
    const lanes = this.slots < MANY_SLOTS || settings.batch ? 1 : LANES;
    const all = settings.batch ? Math.min(this.capacity, MOST_OF_A_BATCH) : this.slots;
    const max = lanes === 1 ? all : Math.floor(this.slots / (lanes + 1));
    this.#takers = Array.from({ length: lanes }, (_, lane) => {
      const { engine } = parts;
      // The first lane requests any number of tasks, the others only enough for a full request.
      const min = lane === 0 ? 1 : max;
      const common = { worker, engine, settings, slots: this, log: this.#log };
      return new Taker({ ...common, suspectLeaseMs: suspectLease, lane, min, max });
    });
  }

  async start(): Promise<void> {
    if (this.#started) return;
    this.#started = true;
    const { keys, pubsub } = this.#engine;
    const listening = keys.tags.map((_, partition) =>
      pubsub.listen(keys.workChannel(partition, this.queue), (message) => this.#notice(partition, message)),
    );
    [this.#standby, ...this.#unlisten] = await Promise.all([this.#engine.leases.openStandby(this.queue), ...listening]);
    this.#unlisten.push(this.#engine.maintenance.onWork(this.queue, (partition) => this.#found(partition)));
    // It may have been stopped meanwhile.
    if (this.#stopped) this.#close();
    else for (const [lane, taker] of this.#takers.entries()) taker.start(lane === 0 ? this.#standby : undefined);
  }

  /** Takes no more work; running tasks continue. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#deafen();
    await Promise.all(this.#takers.map((taker) => taker.stop()));
    this.#call?.close();
    this.#close();
  }

  #close(): void {
    this.#deafen();
    this.#standby?.close();
  }

  #deafen(): void {
    for (const unlisten of this.#unlisten.splice(0)) unlisten();
  }

  #notice(partition: number, bytes: Buffer | null): void {
    const [word, id] = bytes?.toString().split(" ") ?? [];
    if (word === "cancel") this.#renewer.abort("canceled", id);
    else if (word === "deadline" || word === "abandoned") this.#renewer.abort(word, id);
    else {
      this.news[partition] = true;
      for (const taker of this.#takers) taker.notice(word === SHARED.passedOn);
    }
  }

  /** Tasks wait in a partition: if it seemed empty, a message was lost. */
  #found(partition: number): void {
    if ((this.left[partition] ?? 0) > 0) return;
    this.news[partition] = true;
    this.#wake();
  }

  #wake(): void {
    for (const taker of this.#takers) taker.wake();
  }

  /**
   * How many tasks can be reserved. A slot is free as soon as its handler has ended; but while ends cannot be reported to the store, at
   * most as many additional tasks are reserved.
   */
  get free(): number {
    if (this.#occupancy.claimed) return 0;
    return Math.max(0, this.#freeSlots * this.#perSlot + this.#room - this.#claimed);
  }

  get idle(): number {
    return Math.floor(Math.max(0, this.free - this.#room) / this.#perSlot);
  }

  get #freeSlots(): number {
    const kept = Math.max(0, this.#overdue - this.slots);
    return Math.max(0, Math.min(this.slots - this.#busy - kept, 2 * this.slots - this.#inHand));
  }

  /** How many tasks may join the current call. */
  get #room(): number {
    return this.#call?.room ?? 0;
  }

  claim(count: number): void {
    this.#claimed += count;
  }

  release(count: number): void {
    this.#claimed -= count;
    // The caller may claim the released slots again at once.
    if (count > 0 && this.#suspects?.waited) queueMicrotask(() => this.#suspects?.slotFreed());
  }

  run(task: ReservedTask, takenAt: number): void {
    if (task.lost > 0 && this.#suspects) return this.#runSuspect(task, takenAt, this.#suspects);
    if (this.#settings.batch) return this.#runInBatch(task, takenAt, this.#settings.batch);
    this.#began();
    let free = false;
    const settled = (goingOn?: Promise<unknown>) => {
      if (free) return;
      free = true;
      this.#freed(goingOn);
    };
    this.#runner.run(task, this.#handler, this.#settings, { takenAt, settled, over: this.#told });
  }

  /** Without child processes a suspect has a call, and so a slot, of its own. */
  #runInBatch(task: ReservedTask, takenAt: number, { max, waitMs }: NonNullable<QueueSettings["batch"]>): void {
    const alone = task.lost > 0;
    if (alone && this.#freeSlots < 1) return this.#putOff(task);
    const call = alone
      ? this.#newCall(takenAt, 1, 0)
      : this.#room > 0
        ? this.#call
        : this.#newCall(takenAt, max, waitMs);
    if (call === undefined) return this.handBack(task);
    if (!alone) this.#call = call;
    const seat = call.join();
    this.#runner.run(task, this.#handler, this.#settings, { takenAt, settled: seat.settled, over: seat.over, seat });
  }

  #newCall(takenAt: number, max: number, waitMs: number): BatchCall {
    this.#began();
    return new BatchCall(takenAt, {
      max,
      waitMs,
      execute: (attempts) => {
        this.#engine.metrics.batches.observe(attempts.length, this.queue);
        return this.#executors.executeBatch(attempts, this.#handler);
      },
      onSettled: (goingOn) => this.#freed(goingOn),
      onOver: this.#told,
    });
  }

  /** A suspect has a slot only while its handler runs: others use it while it waits for a process. */
  #runSuspect(task: ReservedTask, takenAt: number, suspects: Children): void {
    if (!suspects.admits(task, this.#settings)) return this.#putOff(task);
    let slot: "none" | "held" | "free" = "none";
    let alone = false;
    const claimSlot: ClaimSlot = (how) => {
      if (this.idle < 1 || (how === "alone" && !this.#occupancy.claim())) return false;
      alone = how === "alone";
      this.#began();
      slot = "held";
      return true;
    };
    const settled = (goingOn?: Promise<unknown>) => {
      if (slot !== "held") return;
      slot = "free";
      if (alone) this.#occupancy.release();
      this.#freed(goingOn);
    };
    const over = () => {
      if (slot !== "none") this.#told();
    };
    this.#runner.run(task, this.#handler, this.#settings, { takenAt, settled, over, claimSlot });
    this.#wake();
  }

  #began(): void {
    this.#busy += 1;
    this.#inHand += 1;
    this.#occupancy.begin();
  }

  /** A handler has ended. Tasks that already have a lease and wait for a slot come before those in the line. */
  #freed(goingOn?: Promise<unknown>): void {
    this.#busy -= 1;
    if (goingOn === undefined) this.#occupancy.end();
    else this.#leave(goingOn);
    this.#suspects?.slotFreed();
    this.#wake();
  }

  /** A handler ignores its signal. As many of these as there are slots may continue without one; further ones keep theirs. */
  #leave(goingOn: Promise<unknown>): void {
    this.#overdue += 1;
    if (this.#overdue > this.slots) {
      const counts = { overdue: this.#overdue, slots: this.slots };
      this.#log.error(
        counts,
        "pool: too many handlers continue after their signal; a slot stays taken until one of them ends",
      );
    }
    void goingOn.then(() => {
      this.#overdue -= 1;
      this.#occupancy.end();
      this.#suspects?.slotFreed();
      this.#wake();
    });
  }

  /** The end of an attempt is stored. */
  readonly #told = (): void => {
    const { free } = this;
    this.#inHand -= 1;
    if (free < this.free) this.#wake();
  };

  /** Enough suspects wait here: this one returns to its place a little later, so that the line moves on. */
  #putOff({ id, fence, attempt }: ReservedTask): void {
    const now = performance.now();
    this.#putOffUntil = Math.max(now + PUT_OFF_MS.min, this.#putOffUntil + PUT_OFF_MS.each);
    const later = { kind: "later", afterMs: Math.round(this.#putOffUntil - now), message: "" } as const;
    const failure = failureOf(later, { settings: this.#settings, attempt }, 0);
    this.#engine.leases.fail({ queue: this.queue, id, fence }, failure, this.#settings).catch((error: unknown) => {
      this.#log.warn(
        { requestId: id, reason: reasonOf(error) },
        "pool: could not put off a suspect; it waits until its lease ends",
      );
    });
    this.#wake();
  }

  handBack(task: ReservedTask): void {
    const lease = { queue: this.queue, id: task.id, fence: task.fence };
    this.#engine.leases.release(lease, this.#settings).catch((error: unknown) => {
      this.#log.warn(
        { requestId: task.id, reason: reasonOf(error) },
        "pool: could not release a task without a slot; it waits until its lease ends",
      );
    });
  }
}
