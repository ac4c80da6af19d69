import { varied } from "../backoff.ts";
import type { Engine } from "../engine/engine.ts";
import type { QueueSettings } from "../engine/settings.ts";
import { reasonOf } from "../errors.ts";
import type { Logger } from "../log.ts";
import { Loop, type Role } from "../loop.ts";
import type { Standby } from "../store/standby.ts";
import type { Reservation, ReservedPart, ReservedTask } from "../store/verbs/scripts.ts";
import type { Slots } from "./slots.ts";

/** How often a taker polls while there is work that it could not take, or while its requests cannot wait in the store, ms. */
const POLL_MS = 2000;
/** The same while there seems to be no work: ticks find work that no message announced. */
const IDLE_POLL_MS = 120_000;
/** How long a request waits in the store at most, ms. A process that stands still can be given tasks for that long. */
const STANDBY_MS = 2000;
/**
 * How long the line must be empty before a request waits in the store, ms. While tasks arrive more often, each completion travels with the
 * request for the next task instead of in a call of its own.
 */
const STANDBY_AFTER_MS = 2;
/** The share of a lease for which a request may wait: the lease is counted from when the request was sent. */
const STANDBY_SHARE = 0.25;
/**
 * With several partitions: when to ask a partition again that was empty and has sent no message since, although others may have work, ms.
 * Less than the time between two polls.
 */
const ASK_AGAIN_MS = 1000;
/** Pause after a partition did not answer, ms. */
const RETRY_MS = 500;

/** The dependencies of a taker. */
export interface TakerParts {
  readonly worker: string;
  readonly engine: Engine;
  readonly settings: QueueSettings;
  readonly slots: Slots;
  /** How many tasks each partition had left after its last reply. */
  readonly left: number[];
  /** Which partitions have sent a notice since they were last asked. */
  readonly news: boolean[];
  readonly log: Logger;
  /** The lease of a suspect until its handler begins, ms; undefined if the beginning is not reported. */
  readonly suspectLeaseMs: number | undefined;
  /** The lane of its requests: each lane has one underway at a time. */
  readonly lane: number;
  /** Minimum number of tasks in a request, and of waiting tasks in the partition. */
  readonly min: number;
  /** Maximum number of tasks in a request. */
  readonly max: number;
  run(task: ReservedTask, takenAt: number): void;
  /** Returns a task for which there is no slot any more. */
  handBack(task: ReservedTask): void;
}

/** A request whose reply has not come, although it may have reserved tasks. */
interface Open {
  readonly reservation: string;
  /** The connection that it was sent on, if not the usual one: a repetition on another connection could overtake the first request. */
  readonly standby: Standby | undefined;
}

/** A reply, and how many slots were claimed for it. */
interface TakenReply {
  readonly reserved: ReservedPart;
  readonly takenAt: number;
  readonly claimed: number;
  readonly waited: boolean;
}

/** Reserves tasks from the partitions of a queue, one request at a time, as long as there are free slots. */
export class Taker implements Role {
  readonly #parts: TakerParts;
  readonly #loop: Loop;
  /** The constant part of each request. */
  readonly #request: Omit<Reservation, "reservation" | "count">;
  /** The partition to start with; it rotates, so that none is always last. */
  #first = 0;
  /** The unanswered request, by partition: sent again, it gets the same tasks. */
  readonly #open: (Open | undefined)[] = [];
  /** When each partition was last asked, monotonic ms. */
  readonly #askedAt: number[] = [];
  /** The partitions that did not answer last time, which is logged once. */
  readonly #silent = new Set<number>();
  #requests = 0;
  #standby: Standby | undefined;
  /** Whether something may have changed since the last round: then the next request does not wait. */
  #woken = true;
  /** Whether the line was empty at the last reply. */
  #lineEmpty = false;
  #stopped = false;

  constructor(parts: TakerParts) {
    this.#parts = parts;
    const { worker, lane, settings, suspectLeaseMs } = parts;
    const { queue, leaseMs, rate } = settings;
    const request = { queue, worker, lane, leaseMs, rate };
    this.#request = suspectLeaseMs === undefined ? request : { ...request, suspectLeaseMs };
    this.#loop = new Loop({
      intervalMs: IDLE_POLL_MS,
      tick: () => this.#tick(),
      onError: (error) => parts.log.error({ err: error }, "taker: the round over the partitions failed; retrying"),
    });
  }

  /** @param standby lets requests wait in the store while the line is empty */
  start(standby?: Standby): void {
    this.#standby = standby;
    this.#loop.start();
  }

  /** Takes no more work. */
  async stop(): Promise<void> {
    this.#stopped = true;
    void this.#standby?.cut();
    await this.#loop.stop();
  }

  /**
   * Called when there may be work.
   * @param passed a request that waits in the store takes it
   */
  notice(passed: boolean): void {
    if (!this.#standby?.waiting) this.wake();
    else if (!passed) void this.#standby.cut();
  }

  /** Called when there may be work, or a slot for it. */
  wake(): void {
    // The line is empty, and a request for the next task is already waiting.
    if (this.#standby?.waiting) return;
    this.#woken = true;
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
    const { slots, left, min, lane } = this.#parts;
    if (this.#stopped) return false;
    if (this.#open[partition] !== undefined) return true;
    if (slots.free < min) return false;
    return lane === 0 ? this.#mayHaveWork(partition) : (left[partition] ?? 0) >= min;
  }

  /** False for a partition that is probably empty: with several partitions, most requests would find nothing. */
  #mayHaveWork(partition: number): boolean {
    const { engine, settings, left, news } = this.#parts;
    const { keys } = engine;
    if (keys.partitions === 1 || news[partition] || (left[partition] ?? 0) > 0) return true;
    // In a keyed line each end of a task may let another one start.
    if (settings.keyedConcurrency !== undefined && partition === keys.partitionOfQueue(settings.queue)) return true;
    return performance.now() - (this.#askedAt[partition] ?? Number.NEGATIVE_INFINITY) >= ASK_AGAIN_MS;
  }

  /** Whether the next request can wait in the store. Not for a call that others may join: it would begin before the request is answered. */
  #canWait(): boolean {
    return this.#lineEmpty && this.#standby?.usable === true && this.#parts.slots.idle > 0;
  }

  /** @returns ms until the next round if it is sooner than usual */
  async #tick(): Promise<number | undefined> {
    const { partitions } = this.#parts.engine.keys;
    const waits = !this.#woken && this.#canWait();
    this.#woken = false;
    let soonest: number | undefined;
    this.#first = (this.#first + 1) % partitions;
    for (let i = 0; i < partitions; i += 1) {
      const partition = (this.#first + i) % partitions;
      if (!this.#wants(partition)) continue;
      const pauseMs = await this.#takeFrom(partition, waits).catch((error: unknown) => {
        // Go on: the other partitions may answer.
        if (!this.#silent.has(partition))
          this.#parts.log.warn(
            { partition, reason: reasonOf(error) },
            "taker: could not reserve tasks of a partition; retrying",
          );
        this.#silent.add(partition);
        this.#lineEmpty = false;
        return RETRY_MS;
      });
      if (pauseMs > 0) soonest = Math.min(pauseMs, soonest ?? pauseMs);
    }
    if (soonest !== undefined) return soonest;
    if (this.#canWait()) return STANDBY_AFTER_MS;
    // No event says when requests can wait in the store again, so poll.
    const polls = this.#standby?.usable === false || this.#parts.left.some((left) => left > 0);
    return polls ? varied(POLL_MS) : undefined;
  }

  /**
   * Reserves from one partition until it is empty, every slot is busy, or the rate allows no more for the ms returned; if there
   * are other partitions, at most as many tasks as there are slots.
   */
  async #takeFrom(partition: number, waits: boolean): Promise<number> {
    const { engine, slots, left, run, handBack } = this.#parts;
    const max = engine.keys.partitions === 1 ? Number.POSITIVE_INFINITY : slots.capacity;
    let total = 0;
    for (let asked = this.#ask(partition, waits); ; ) {
      const { reserved, takenAt, claimed, waited } = await asked;
      const { tasks, waiting, pauseMs } = reserved;
      left[partition] = waiting ?? 0;
      slots.release(claimed);
      this.#lineEmpty = waiting === 0;
      if (waited && waiting !== null && waiting > 0) this.#standby?.passOn();
      // A repeated request gets the same tasks again, and a request may have waited: by now there may be too few slots for its tasks.
      const taken = tasks.slice(0, slots.free);
      for (const task of tasks.slice(taken.length)) handBack(task);
      total += taken.length;
      slots.claim(taken.length);
      const wants = () => waiting !== null && waiting > 0 && this.#wants(partition) && total < max;
      if (wants() && tasks.length === 0 && pauseMs > 0) {
        return pauseMs;
      }
      // Sent before these begin, so that the store works on it meanwhile.
      const next = wants() ? this.#ask(partition, false) : undefined;
      for (const task of taken) {
        slots.release(1);
        run(task, takenAt);
      }
      if (next !== undefined) asked = next;
      // Some tasks may have ended at once, so their slots can be filled in the same turn.
      else if (wants()) asked = this.#ask(partition, false);
      else return 0;
    }
  }

  async #ask(partition: number, waits: boolean): Promise<TakenReply> {
    const { engine, slots, news, max } = this.#parts;
    this.#requests += 1;
    // It only needs to be unique within a lane, since workers have unique ids.
    const repeated = this.#open[partition];
    const reservation = repeated?.reservation ?? String(this.#requests);
    let standby = repeated ? repeated.standby : waits ? this.#standby : undefined;
    if (repeated && standby?.usable === false) {
      await standby.abandon();
      standby = undefined;
    }
    const waited = standby !== undefined;
    this.#open[partition] = { reservation, standby };
    const takenAt = performance.now();
    this.#askedAt[partition] = takenAt;
    // Before it is sent: a notice may overtake the reply.
    news[partition] = false;
    const count = Math.min(slots.free, max);
    // Slots are not claimed for a request that waits: others may use them until it is answered.
    const claimed = waited ? 0 : count;
    slots.claim(claimed);
    try {
      const request = { ...this.#request, reservation, count };
      const waitMs = repeated ? 0 : Math.min(STANDBY_MS, request.leaseMs * STANDBY_SHARE);
      const reserved = await (standby ? standby.reserve(request, waitMs) : engine.leases.reserve(partition, request));
      this.#open[partition] = undefined;
      this.#silent.delete(partition);
      return { reserved, takenAt, claimed, waited };
    } catch (error) {
      slots.release(claimed);
      throw error;
    }
  }
}
