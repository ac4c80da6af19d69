import type { Engine } from "../engine/engine.ts";
import type { QueueSettings } from "../engine/settings.ts";
import { reasonOf } from "../errors.ts";
import type { Logger } from "../log.ts";
import { Loop, type Role } from "../loop.ts";
import type { Reservation, Reserved } from "../store/scripts/scripts.ts";

/** How often an idle taker looks for work that nobody announced, ms. */
const POLL_MS = 2000;
/** Pause after a partition could not be asked, ms. */
const RETRY_MS = 500;

/** The slots that takers fill. */
export interface Slots {
  readonly queue: string;
  /** How many there are. */
  readonly slots: number;
  /** How many are neither busy nor claimed for a request for tasks that is underway. */
  readonly free: number;
  /** Keeps so many slots for tasks that have been asked for. */
  claim(count: number): void;
  /** Gives back so many slots that were claimed. */
  release(count: number): void;
  /** How many tasks were left in each partition when it was last asked. */
  readonly left: number[];
  run(task: Reserved, takenAt: number): void;
  /** A task for which there is no slot any more. */
  handBack(task: Reserved): void;
}

/** What a taker needs. */
export interface TakerParts {
  readonly worker: string;
  readonly engine: Engine;
  readonly settings: QueueSettings;
  readonly slots: Slots;
  readonly log: Logger;
  /** How long it has a suspect until it says that the handler begins, ms; undefined where it does not say so. */
  readonly suspectLeaseMs: number | undefined;
  /** Which of the worker's requests for this queue: each lane has one underway at a time. */
  readonly lane: number;
  /** Fewer tasks than this are not asked for, nor where fewer wait. */
  readonly least: number;
  /** The most tasks of one request. */
  readonly most: number;
}

/** Asks the partitions of a queue for tasks, one request at a time, as long as there are slots for them. */
export class Taker implements Role {
  readonly #parts: TakerParts;
  readonly #loop: Loop;
  /** What is the same in each request. */
  readonly #request: Omit<Reservation, "reservation" | "count">;
  /** The partition that is asked first, so that none is always last. */
  #first = 0;
  /** By partition, the reservation of a request that has not been answered: sent again, it brings the same tasks. */
  readonly #open: (string | undefined)[] = [];
  /** The partitions that did not answer when they were last asked; it is said once. */
  readonly #silent = new Set<number>();
  #requests = 0;
  #stopped = false;

  constructor(parts: TakerParts) {
    this.#parts = parts;
    const { worker, lane, slots, settings, suspectLeaseMs } = parts;
    const { leaseMs, rate } = settings;
    const request = { queue: slots.queue, worker, lane, leaseMs, rate };
    this.#request = suspectLeaseMs === undefined ? request : { ...request, suspectLeaseMs };
    this.#loop = new Loop({
      intervalMs: POLL_MS,
      tick: () => this.#tick(),
      onError: (error) => parts.log.error({ err: error }, "taker: the round over the partitions failed; retrying"),
    });
  }

  start(): void {
    this.#loop.start();
  }

  /** Takes no more work. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#loop.stop();
  }

  /** There may be work, or a slot for it. */
  wake(): void {
    const { partitions } = this.#parts.engine.keys;
    for (let partition = 0; partition < partitions; partition += 1) {
      if (this.#wants(partition)) return this.#loop.wake();
    }
  }

  /**
   * Whether a partition is to be asked. What it may have given already is asked for as long as work is taken, and handed back
   * where there is no slot for it.
   */
  #wants(partition: number): boolean {
    const { slots, least, lane } = this.#parts;
    if (this.#stopped) return false;
    if (this.#open[partition] !== undefined) return true;
    return slots.free >= least && (lane === 0 || (slots.left[partition] ?? 0) >= least);
  }

  /** @returns ms until the next look where that is sooner than usual: the queue's rate allows more then, or the store is away */
  async #tick(): Promise<number | undefined> {
    const { partitions } = this.#parts.engine.keys;
    let soonest: number | undefined;
    this.#first = (this.#first + 1) % partitions;
    for (let i = 0; i < partitions; i += 1) {
      const partition = (this.#first + i) % partitions;
      if (!this.#wants(partition)) continue;
      const pauseMs = await this.#takeFrom(partition).catch((error: unknown) => {
        // The other partitions may well answer.
        if (!this.#silent.has(partition))
          this.#parts.log.warn(
            { partition, reason: reasonOf(error) },
            "taker: could not reserve tasks of a partition; retrying",
          );
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
    const { engine, slots } = this.#parts;
    const most = engine.keys.partitions === 1 ? Number.POSITIVE_INFINITY : slots.slots;
    let total = 0;
    for (let asked = this.#ask(partition); ; ) {
      const { reserved, takenAt, count } = await asked;
      const { tasks, waiting, pauseMs } = reserved;
      slots.left[partition] = waiting ?? 0;
      slots.release(count);
      // A request that is sent again brings what it brought at first, for which there may be too few slots by now.
      const taken = tasks.slice(0, slots.free);
      for (const task of tasks.slice(taken.length)) slots.handBack(task);
      total += taken.length;
      slots.claim(taken.length);
      const wants = () => waiting !== null && waiting > 0 && this.#wants(partition) && total < most;
      if (wants() && tasks.length === 0 && pauseMs > 0) {
        return pauseMs;
      }
      // Asked before these begin: the store works on it meanwhile.
      const next = wants() ? this.#ask(partition) : undefined;
      for (const task of taken) {
        slots.release(1);
        slots.run(task, takenAt);
      }
      if (next !== undefined) asked = next;
      // Some may have ended at once: their slots are filled in the same turn.
      else if (wants()) asked = this.#ask(partition);
      else return 0;
    }
  }

  async #ask(partition: number) {
    const { engine, slots, most } = this.#parts;
    this.#requests += 1;
    // Unique within the lane of a worker, which is unique itself: nothing else is asked of it.
    const reservation = this.#open[partition] ?? String(this.#requests);
    this.#open[partition] = reservation;
    const takenAt = performance.now();
    const count = Math.min(slots.free, most);
    slots.claim(count);
    try {
      const reserved = await engine.reserve(partition, { ...this.#request, reservation, count });
      this.#open[partition] = undefined;
      this.#silent.delete(partition);
      return { reserved, takenAt, count };
    } catch (error) {
      slots.release(count);
      throw error;
    }
  }
}
