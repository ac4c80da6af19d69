import type { HandlerEnd } from "../engine/tasks/attempt-end.ts";
import type { SlotBatch } from "../store/line/snapshot.ts";
import type { Attempt } from "./attempt/attempt.ts";
import type { Slot } from "./slots.ts";

/** Runs the handler; returns the end of each task. */
type Execute = (attempts: readonly Attempt[]) => Promise<HandlerEnd>[];

/** The calls of a handler with `batch` in one process: which of them tasks join. */
export class BatchCalls {
  readonly #batch: SlotBatch;
  readonly #takeSlot: () => Slot | undefined;
  readonly #execute: Execute;
  /** The call that tasks may join, or the last one. */
  #gathering: BatchCall | undefined;

  /** @param takeSlot takes a slot if one is free */
  constructor(batch: SlotBatch, takeSlot: () => Slot | undefined, execute: Execute) {
    this.#batch = batch;
    this.#takeSlot = takeSlot;
    this.#execute = execute;
  }

  /** For how many tasks there is room, in addition to those for free slots. */
  get room(): number {
    return this.#gathering?.room ?? 0;
  }

  /** Seats another task, which has been in line for so long; undefined if there is no slot for it. */
  join(stoodMs: number): Slot | undefined {
    if (this.room === 0) {
      const slot = this.#takeSlot();
      if (slot === undefined) return undefined;
      this.#gathering = new BatchCall(this.#batch, slot, this.#execute);
    }
    return this.#gathering?.join(stoodMs);
  }

  /** No more tasks join: the call that gathers begins. */
  stop(): void {
    this.#gathering?.close();
  }
}

/** A task that waits for the call. */
interface BatchSeat {
  readonly attempt: Attempt;
  resolve(end: HandlerEnd | Promise<HandlerEnd>): void;
}

/**
 * One call of a handler with several tasks, in one slot. Tasks join until it is full, or has waited long enough; it begins when the inputs
 * of all of them have been read.
 */
class BatchCall {
  readonly #batch: SlotBatch;
  readonly #slot: Slot;
  readonly #execute: Execute;
  readonly #joined: BatchSeat[] = [];
  #seats = 0;
  /** Seats whose tasks have neither joined nor ended. */
  #reading = 0;
  #unstored = 0;
  #closed = false;
  #begun = false;
  #ended = false;
  /** When it begins with what it has, monotonic ms. */
  #dueAt = Number.POSITIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;

  constructor(batch: SlotBatch, slot: Slot, execute: Execute) {
    this.#batch = batch;
    this.#slot = slot;
    this.#execute = execute;
  }

  /** How many more tasks may join. */
  get room(): number {
    return this.#closed ? 0 : this.#batch.max - this.#seats;
  }

  /** Seats another task, which has been in line for so long; there must be room. */
  join(stoodMs: number): Slot {
    this.#seats += 1;
    this.#reading += 1;
    this.#unstored += 1;
    this.#closeBy(performance.now() + this.#batch.waitMs - stoodMs);
    let reads = true;
    const read = () => {
      if (reads) this.#reading -= 1;
      reads = false;
      this.#runIfReady();
    };
    if (this.room === 0) this.close();
    return {
      execute: (attempt) =>
        new Promise((resolve) => {
          const seat = { attempt, resolve };
          this.#joined.push(seat);
          attempt.whenAborted(() => this.#leave(seat));
          read();
        }),
      ended: read,
      stored: () => {
        this.#unstored -= 1;
        this.#endIfStored();
      },
    };
  }

  /** No more tasks join. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#runIfReady();
  }

  #closeBy(at: number): void {
    if (at >= this.#dueAt) return;
    this.#dueAt = at;
    clearTimeout(this.#timer);
    const ms = at - performance.now();
    const waited = () => this.close();
    if (ms > 0) this.#timer = setTimeout(waited, ms);
    // Tasks that were taken together still join.
    else queueMicrotask(waited);
  }

  /** A task is asked to stop before the handler began. */
  #leave(seat: BatchSeat): void {
    if (this.#begun) return;
    const at = this.#joined.indexOf(seat);
    if (at < 0) return;
    this.#joined.splice(at, 1);
    seat.resolve({ kind: "overdue" });
  }

  #runIfReady(): void {
    if (!this.#closed || this.#begun || this.#reading > 0) return;
    this.#begun = true;
    const attempts = this.#joined.map(({ attempt }) => attempt);
    const ends = attempts.length === 0 ? [] : this.#execute(attempts);
    for (const [n, { resolve }] of this.#joined.entries()) resolve(ends[n] ?? { kind: "overdue" });
    // The next call begins before the ends of this one are stored.
    void Promise.all(ends).then(() => {
      this.#slot.ended(attempts.find(({ goingOn }) => goingOn)?.goingOn);
      this.#ended = true;
      this.#endIfStored();
    });
  }

  #endIfStored(): void {
    if (this.#ended && this.#unstored === 0) this.#slot.stored();
  }
}
