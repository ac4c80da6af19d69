import type { HandlerEnd } from "../engine/attempt/attempt-end.ts";
import type { Attempt } from "./attempt/attempt.ts";
import type { Place } from "./place.ts";

/** The dependencies of {@link BatchCall}. */
export interface BatchCallParts {
  /** Maximum number of tasks. */
  readonly max: number;
  /** How long it waits for more tasks, ms, from when the oldest of its tasks joined the line. */
  readonly waitMs: number;
  /** Runs the handler; returns the end of each task. */
  execute(attempts: readonly Attempt[]): Promise<HandlerEnd>[];
}

/** A task that waits for the call. */
interface BatchSeat {
  readonly attempt: Attempt;
  readonly since: number;
  resolve(end: HandlerEnd | Promise<HandlerEnd>): void;
}

/**
 * One call of a handler with several tasks, in one slot. Tasks join until it is full, or has waited long enough; it begins when the inputs
 * of all of them have been read.
 */
export class BatchCall {
  readonly #parts: BatchCallParts;
  readonly #joined: BatchSeat[] = [];
  readonly #slot: Place;
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

  constructor(parts: BatchCallParts, slot: Place) {
    this.#parts = parts;
    this.#slot = slot;
  }

  /** How many more tasks may join. */
  get room(): number {
    return this.#closed ? 0 : this.#parts.max - this.#seats;
  }

  /** Seats another task, which has been in line for so long; there must be room. */
  join(stoodMs: number): Place {
    this.#seats += 1;
    this.#reading += 1;
    this.#unstored += 1;
    const since = performance.now();
    this.#closeBy(since + this.#parts.waitMs - stoodMs);
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
          read();
        }),
      settled: read,
      over: () => {
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
    const beganAt = performance.now();
    for (const { attempt, since } of this.#joined) attempt.waitedMs = beganAt - since;
    const attempts = this.#joined.map(({ attempt }) => attempt);
    const ends = attempts.length === 0 ? [] : this.#parts.execute(attempts);
    for (const [n, { resolve }] of this.#joined.entries()) resolve(ends[n] ?? { kind: "overdue" });
    // The next call begins before the ends of this one are stored.
    void Promise.all(ends).then(() => {
      this.#slot.settled(attempts.find(({ goingOn }) => goingOn)?.goingOn);
      this.#ended = true;
      this.#endIfStored();
    });
  }

  #endIfStored(): void {
    if (this.#ended && this.#unstored === 0) this.#slot.over();
  }
}
