import type { HandlerEnd } from "../engine/attempt/attempt-end.ts";
import type { Attempt } from "./attempt/attempt.ts";
import type { Place } from "./place.ts";

/** The dependencies of {@link BatchCall}. */
export interface BatchCallParts {
  /** Maximum number of tasks. */
  readonly max: number;
  /** How long it waits for more tasks, ms. */
  readonly waitMs: number;
  /** Runs the handler; returns the end of each task. */
  execute(attempts: readonly Attempt[]): Promise<HandlerEnd>[];
  /** Called when every task has ended or is abandoned, before its slot is freed. */
  onEnded(ranMs: number): void;
}

/** A task that waits for the call. */
interface BatchSeat {
  readonly attempt: Attempt;
  readonly since: number;
  resolve(end: HandlerEnd | Promise<HandlerEnd>): void;
}

/**
 * One call of a handler with several tasks, in one slot. Tasks join until it is full, or has waited long enough and has a slot; it begins
 * when the inputs of all of them have been read.
 */
export class BatchCall {
  readonly #parts: BatchCallParts;
  readonly #joined: BatchSeat[] = [];
  #slot: Place | undefined;
  #seats = 0;
  /** Seats whose tasks have neither joined nor ended. */
  #reading = 0;
  #unstored = 0;
  #waited = false;
  #closed = false;
  #begun = false;
  #ended = false;
  #handedBack = false;
  readonly #timer: NodeJS.Timeout | undefined;

  /** @param slot if left out, it waits for one */
  constructor(parts: BatchCallParts, slot: Place | undefined) {
    this.#parts = parts;
    this.#slot = slot;
    const waited = () => {
      this.#waited = true;
      if (this.#slot) this.close();
    };
    if (parts.waitMs > 0) this.#timer = setTimeout(waited, parts.waitMs);
    // Tasks that were taken together still join.
    else queueMicrotask(waited);
  }

  /** How many more tasks may join. */
  get room(): number {
    return this.#closed ? 0 : this.#parts.max - this.#seats;
  }

  /** Seats another task; there must be room. */
  join(): Place {
    this.#seats += 1;
    this.#reading += 1;
    this.#unstored += 1;
    const since = performance.now();
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
          const seat = { attempt, since, resolve };
          this.#joined.push(seat);
          attempt.whenAborted(() => this.#leave(seat));
          if (this.#handedBack) attempt.abort("shutdown");
          read();
        }),
      settled: read,
      over: () => {
        this.#unstored -= 1;
        this.#endIfStored();
      },
    };
  }

  /** Called with the slot that it waits for. */
  begin(slot: Place): void {
    this.#slot = slot;
    if (this.#waited) this.close();
    this.#runIfReady();
  }

  /** No more tasks join. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#runIfReady();
  }

  /** Ends it without a slot: its tasks return to their places in line. */
  handBack(): void {
    this.#handedBack = true;
    for (const { attempt } of [...this.#joined]) attempt.abort("shutdown");
    this.close();
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
    const slot = this.#slot;
    if (!slot || !this.#closed || this.#begun || this.#reading > 0) return;
    this.#begun = true;
    const beganAt = performance.now();
    for (const { attempt, since } of this.#joined) attempt.waitedMs = beganAt - since;
    const attempts = this.#joined.map(({ attempt }) => attempt);
    const ends = attempts.length === 0 ? [] : this.#parts.execute(attempts);
    for (const [n, { resolve }] of this.#joined.entries()) resolve(ends[n] ?? { kind: "overdue" });
    // The next call begins before the ends of this one are stored.
    void Promise.all(ends).then(() => {
      if (attempts.length > 0) this.#parts.onEnded(performance.now() - beganAt);
      slot.settled(attempts.find(({ goingOn }) => goingOn)?.goingOn);
      this.#ended = true;
      this.#endIfStored();
    });
  }

  #endIfStored(): void {
    if (this.#ended && this.#unstored === 0) this.#slot?.over();
  }
}
