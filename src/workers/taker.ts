import { varied } from "../backoff.ts";
import type { Engine } from "../engine/engine.ts";
import type { QueueSettings } from "../engine/settings.ts";
import { reasonOf } from "../errors.ts";
import type { Logger } from "../log.ts";
import { Loop, type Role } from "../loop.ts";
import type { Reservation, ReserveAnswer, ReservedTask } from "../store/line/reserve.ts";
import type { Standby } from "../store/line/standby.ts";
import { SUSPECT_LEASE_MS } from "./attempt/attempt.ts";
import type { Slots } from "./slots.ts";

/** How often a taker polls while there is work that it could not take, or while its requests cannot wait in the store, ms. */
const POLL_MS = 2000;
/** The same while there seems to be no work: ticks find work that no message announced. */
const IDLE_POLL_MS = 120_000;
/** How long a request waits in the store at most, ms. A process that stands still can be given tasks for that long. */
const STANDBY_MS = 3000;
/**
 * How long the line must be empty before a request waits in the store, ms. While tasks arrive more often, each completion travels with the
 * request for the next task instead of in a call of its own.
 */
const STANDBY_AFTER_MS = 2;
/** The share of a lease for which a request may wait: the lease is counted from when the request was sent. */
const STANDBY_SHARE = 0.25;
/** Pause after the store did not answer, ms. */
const RETRY_MS = 500;

/** The dependencies of a taker. */
export interface TakerParts {
  readonly worker: string;
  readonly engine: Engine;
  readonly settings: QueueSettings;
  readonly slots: Slots;
  /** How many tasks were left after the last reply to any lane; 0 while the queue is paused. */
  readonly line: { waiting: number };
  readonly log: Logger;
  /** The lane of its requests: each lane has one underway at a time. */
  readonly lane: number;
  /** Minimum number of tasks in a request; the lanes after the first also need as many in line. */
  min(): number;
  /** Maximum number of tasks in a request. */
  max(): number;
  /** Whether more tasks are requested than there are slots for. */
  ahead(): boolean;
  /** @param ahead whether the store knows that it may have no slot yet */
  run(task: ReservedTask, takenAt: number, ahead: boolean): void;
  /** Returns a task for which there is no slot any more. */
  handBack(task: ReservedTask): void;
}

/** A request whose reply has not come, although it may have reserved tasks. */
interface Open {
  readonly reservation: string;
  readonly ahead: boolean;
  /** The connection that it was sent on, if not the usual one: a repetition on another connection could overtake the first request. */
  readonly standby: Standby | undefined;
}

/** A reply, and how many slots were claimed for it. */
interface TakenReply {
  readonly reserved: ReserveAnswer;
  readonly ahead: boolean;
  readonly takenAt: number;
  readonly claimed: number;
}

/** Reserves tasks of a queue, one request at a time, as long as there are free slots. While the line is empty, requests wait in the store. */
export class Taker implements Role {
  readonly #parts: TakerParts;
  readonly #loop: Loop;
  /** The constant part of each request. */
  readonly #request: Omit<Reservation, "reservation" | "count" | "ahead">;
  /** The unanswered request: sent again, it gets the same tasks. */
  #open: Open | undefined;
  /** The last request was not answered, which is logged once. */
  #failing = false;
  #requests = 0;
  #standby: Standby | undefined;
  /** Whether something may have changed since the last request: then the next one does not wait. */
  #woken = true;
  /** Whether the line was empty at the last reply. */
  #lineEmpty = false;
  #stopped = false;

  constructor(parts: TakerParts) {
    this.#parts = parts;
    const { worker, lane, settings, log } = parts;
    const { queue, leaseMs, rate } = settings;
    this.#request = { queue, worker, lane, leaseMs, rate, suspectLeaseMs: Math.min(leaseMs, SUSPECT_LEASE_MS) };
    this.#loop = new Loop({
      intervalMs: IDLE_POLL_MS,
      tick: () => this.#tick(),
      onError: (error) => log.error({ err: error }, "taker: a turn failed; retrying"),
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
    if (this.#wants) this.#loop.wake();
  }

  /**
   * Whether to send a request. An unanswered one is always repeated, since it may have reserved tasks; those without a slot are handed back.
   */
  get #wants(): boolean {
    const { slots, line, min, lane } = this.#parts;
    if (this.#stopped) return false;
    if (this.#open !== undefined) return true;
    return slots.free >= min() && (lane === 0 || line.waiting >= min());
  }

  /** Whether the next request can wait in the store. Not for a call that others may join: it would begin before the request is answered. */
  get #canWait(): boolean {
    return this.#lineEmpty && this.#standby?.usable === true && this.#parts.slots.idle > 0;
  }

  /** @returns ms until the next turn if it is sooner than usual */
  async #tick(): Promise<number | undefined> {
    const waits = !this.#woken && this.#canWait;
    this.#woken = false;
    if (this.#wants) {
      try {
        const pauseMs = await this.#take(waits);
        if (pauseMs > 0) return pauseMs;
      } catch (error) {
        if (!this.#failing)
          this.#parts.log.warn({ reason: reasonOf(error) }, "taker: could not reserve tasks; retrying");
        this.#failing = true;
        this.#lineEmpty = false;
        return RETRY_MS;
      }
    }
    if (this.#canWait) return STANDBY_AFTER_MS;
    // No event says when requests can wait in the store again, so poll.
    const polls = this.#standby?.usable === false || this.#parts.line.waiting > 0;
    return polls ? varied(POLL_MS) : undefined;
  }

  /** Reserves until the line is empty, every slot is busy, or the rate allows no more for the ms returned. */
  async #take(waits: boolean): Promise<number> {
    const { slots, line, run, handBack } = this.#parts;
    for (let asked = this.#ask(waits); ; ) {
      const { reserved, ahead, takenAt, claimed } = await asked;
      const { tasks, waiting, pauseMs } = reserved;
      line.waiting = waiting ?? 0;
      slots.release(claimed);
      this.#lineEmpty = waiting === 0;
      // A repeated request gets the same tasks again, and a request may have waited: by now there may be too few slots for its tasks.
      const taken = tasks.slice(0, slots.free);
      for (const task of tasks.slice(taken.length)) handBack(task);
      slots.claim(taken.length);
      const wants = () => line.waiting > 0 && this.#wants;
      if (wants() && tasks.length === 0 && pauseMs > 0) return pauseMs;
      // Sent before these begin, so that the store works on it meanwhile.
      const next = wants() ? this.#ask(false) : undefined;
      for (const task of taken) {
        slots.release(1);
        run(task, takenAt, ahead);
      }
      if (next !== undefined) asked = next;
      // Some tasks may have ended at once, so their slots can be filled in the same turn.
      else if (wants()) asked = this.#ask(false);
      else return 0;
    }
  }

  async #ask(waits: boolean): Promise<TakenReply> {
    const { engine, slots, max } = this.#parts;
    this.#requests += 1;
    // It only needs to be unique within a lane, since workers have unique ids.
    const repeated = this.#open;
    const reservation = repeated?.reservation ?? String(this.#requests);
    const ahead = repeated?.ahead ?? this.#parts.ahead();
    let standby = repeated ? repeated.standby : waits ? this.#standby : undefined;
    if (repeated && standby?.usable === false) {
      await standby.abandon();
      standby = undefined;
    }
    this.#open = { reservation, ahead, standby };
    const takenAt = performance.now();
    const count = Math.min(slots.free, max());
    // Slots are not claimed for a request that waits: others may use them until it is answered.
    const claimed = standby ? 0 : count;
    slots.claim(claimed);
    try {
      const request = { ...this.#request, reservation, count, ahead };
      const waitMs = repeated ? 0 : Math.min(STANDBY_MS, request.leaseMs * STANDBY_SHARE);
      const reserved = await (standby ? standby.reserve(request, waitMs) : engine.leases.reserve(request));
      this.#open = undefined;
      this.#failing = false;
      return { reserved, ahead, takenAt, claimed };
    } catch (error) {
      slots.release(claimed);
      throw error;
    }
  }
}
