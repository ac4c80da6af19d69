import type { HandlerEnd } from "../engine/attempt/attempt-end.ts";
import type { Attempt } from "./attempt/attempt.ts";
import type { Place } from "./place.ts";

/** The dependencies of {@link BatchCall}. */
export interface BatchCallParts {
  /** Most tasks. */
  readonly max: number;
  /** How long it waits for more tasks, ms. */
  readonly waitMs: number;
  /** Runs the handler; returns the end of each task. */
  execute(attempts: readonly Attempt[]): Promise<HandlerEnd>[];
  /** Settled when every task has ended or is abandoned, and over when every end is stored. */
  readonly slot: Place;
}

/** A task that waits for the call. */
interface BatchSeat {
  readonly attempt: Attempt;
  resolve(end: HandlerEnd | Promise<HandlerEnd>): void;
}

/**
 * One call of a handler with several tasks, in one slot. Tasks join until it is full or has waited long enough; it begins when the inputs
 * of all of them have been read.
 */
export class BatchCall {
  readonly #parts: BatchCallParts;
  readonly #joined: BatchSeat[] = [];
  #seats = 0;
  /** Seats whose tasks have neither joined nor ended. */
  #reading = 0;
  #unsettled = 0;
  #unstored = 0;
  #closed = false;
  #begun = false;
  #goingOn: Promise<unknown> | undefined;
  readonly #timer: NodeJS.Timeout | undefined;

  constructor(parts: BatchCallParts) {
    this.#parts = parts;
    if (parts.waitMs > 0) this.#timer = setTimeout(() => this.close(), parts.waitMs);
    // The tasks that were taken together still join.
    else queueMicrotask(() => this.close());
  }

  /** How many more tasks may join. */
  get room(): number {
    return this.#closed ? 0 : this.#parts.max - this.#seats;
  }

  /** The place of another task; there must be room. */
  join(): Place {
    this.#seats += 1;
    this.#reading += 1;
    this.#unsettled += 1;
    this.#unstored += 1;
    let [reads, ended] = [true, false];
    const read = () => {
      if (reads) this.#reading -= 1;
      reads = false;
    };
    if (this.room === 0) this.close();
    return {
      execute: (attempt) =>
        new Promise((resolve) => {
          const joined = { attempt, resolve };
          this.#joined.push(joined);
          read();
          attempt.whenAborted(() => this.#leave(joined));
          this.#beginIfReady();
        }),
      settled: (goingOn) => {
        if (ended) return;
        ended = true;
        this.#unsettled -= 1;
        this.#goingOn = goingOn ?? this.#goingOn;
        read();
        this.#beginIfReady();
        this.#endIfSettled();
      },
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
    this.#beginIfReady();
    this.#endIfSettled();
    this.#endIfStored();
  }

  /** A task is asked to stop before the handler began. */
  #leave(joined: BatchSeat): void {
    if (this.#begun) return;
    const at = this.#joined.indexOf(joined);
    if (at < 0) return;
    this.#joined.splice(at, 1);
    joined.resolve({ kind: "overdue" });
  }

  #beginIfReady(): void {
    if (!this.#closed || this.#begun || this.#reading > 0) return;
    this.#begun = true;
    if (this.#joined.length === 0) return;
    const ends = this.#parts.execute(this.#joined.map(({ attempt }) => attempt));
    for (const [n, { resolve }] of this.#joined.entries()) resolve(ends[n] ?? { kind: "overdue" });
  }

  #endIfSettled(): void {
    if (this.#closed && this.#unsettled === 0) this.#parts.slot.settled(this.#goingOn);
  }

  #endIfStored(): void {
    if (this.#closed && this.#unstored === 0) this.#parts.slot.over();
  }
}
