import type { Engine } from "../engine/engine.ts";
import type { QueueSettings } from "../engine/settings.ts";
import { reasonOf } from "../errors.ts";
import type { Logger } from "../log.ts";
import { Loop, type Role } from "../loop.ts";
import type { Reservation, Reserved } from "../store/scripts/scripts.ts";

/** How often an idle taker polls, in case a message was lost, ms. */
const POLL_MS = 2000;
/** Pause after a partition did not answer, ms. */
const RETRY_MS = 500;

/** The slots that takers fill. */
export interface Slots {
  readonly queue: string;
  /** The total. */
  readonly slots: number;
  /** How many are neither busy nor claimed for a pending request. */
  readonly free: number;
  /** Claims slots for requested tasks. */
  claim(count: number): void;
  /** Releases claimed slots. */
  release(count: number): void;
  /** How many tasks each partition had left after its last reply. */
  readonly left: number[];
  run(task: Reserved, takenAt: number): void;
  /** Hands back a task for which there is no slot any more. */
  handBack(task: Reserved): void;
}

/** The dependencies of a taker. */
export interface TakerParts {
  readonly worker: string;
  readonly engine: Engine;
  readonly settings: QueueSettings;
  readonly slots: Slots;
  readonly log: Logger;
  /** The lease of a suspect until its handler begins, ms; undefined if the beginning is not reported. */
  readonly suspectLeaseMs: number | undefined;
  /** The lane of its requests: each lane has one underway at a time. */
  readonly lane: number;
  /** Minimum number of tasks in a request, and of waiting tasks in the partition. */
  readonly least: number;
  /** Maximum number of tasks in a request. */
  readonly most: number;
}

/** Reserves tasks from the partitions of a queue, one request at a time, as long as there are free slots. */
export class Taker implements Role {
  readonly #parts: TakerParts;
  readonly #loop: Loop;
  /** The constant part of each request. */
  readonly #request: Omit<Reservation, "reservation" | "count">;
  /** The partition to start with; it rotates, so that none is always last. */
  #first = 0;
  /** The reservation id of an unanswered request, by partition: sent again, it gets the same tasks. */
  readonly #open: (string | undefined)[] = [];
  /** The partitions that did not answer last time, which is logged once. */
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

  /** Called when there may be work, or a slot for it. */
  wake(): void {
    const { partitions } = this.#parts.engine.keys;
    for (let partition = 0; partition < partitions; partition += 1) {
      if (this.#wants(partition)) return this.#loop.wake();
    }
  }

  /**
   * Whether to send a request to a partition. An unanswered request is always repeated, since it may have reserved tasks; those
   * without a slot are handed back.
   */
  #wants(partition: number): boolean {
    const { slots, least, lane } = this.#parts;
    if (this.#stopped) return false;
    if (this.#open[partition] !== undefined) return true;
    return slots.free >= least && (lane === 0 || (slots.left[partition] ?? 0) >= least);
  }

  /** @returns ms until the next poll if it is sooner than usual, because of the queue's rate or an unreachable store */
  async #tick(): Promise<number | undefined> {
    const { partitions } = this.#parts.engine.keys;
    let soonest: number | undefined;
    this.#first = (this.#first + 1) % partitions;
    for (let i = 0; i < partitions; i += 1) {
      const partition = (this.#first + i) % partitions;
      if (!this.#wants(partition)) continue;
      const pauseMs = await this.#takeFrom(partition).catch((error: unknown) => {
        // The other partitions may answer.
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
   * Reserves from one partition until it is empty, every slot is busy, or the rate allows no more for the ms returned; if there
   * are other partitions, at most as many tasks as there are slots.
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
      // A repeated request gets the same tasks again, for which there may be too few slots by now.
      const taken = tasks.slice(0, slots.free);
      for (const task of tasks.slice(taken.length)) slots.handBack(task);
      total += taken.length;
      slots.claim(taken.length);
      const wants = () => waiting !== null && waiting > 0 && this.#wants(partition) && total < most;
      if (wants() && tasks.length === 0 && pauseMs > 0) {
        return pauseMs;
      }
      // Sent before these begin, so that the store works on it meanwhile.
      const next = wants() ? this.#ask(partition) : undefined;
      for (const task of taken) {
        slots.release(1);
        slots.run(task, takenAt);
      }
      if (next !== undefined) asked = next;
      // Some may have ended at once, so that their slots can be filled in the same turn.
      else if (wants()) asked = this.#ask(partition);
      else return 0;
    }
  }

  async #ask(partition: number) {
    const { engine, slots, most } = this.#parts;
    this.#requests += 1;
    // It only needs to be unique within the lane of a worker, which itself is unique.
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
