/** The next call is filled when this share of the usual time of a call has passed. */
const ASK_AFTER = 0.75;
/** Its tasks are handed back if the running call takes longer than this many times the usual time. */
const GIVE_UP_AFTER = 2;
/** Longest usual time of a call for which the next one is filled early, ms: beyond it a round trip to the store hardly matters. */
const LONGEST_MS = 50;
/** How many calls must have been measured. */
const LEAST = 4;
/** The weight of the latest call in mean and deviation. */
const WEIGHT = 0.1;

/** When to fill the next call of a slot, ms after the running one began. */
export interface EarlyFill {
  readonly askAfterMs: number;
  readonly giveUpAfterMs: number;
}

/** How long the calls of a handler usually take, and what follows from that for the next one. */
export class CallTimes {
  #meanMs = 0;
  /** The average deviation from the mean. */
  #deviationMs = 0;
  #calls = 0;

  add(ms: number): void {
    this.#calls += 1;
    const weight = Math.max(WEIGHT, 1 / this.#calls);
    const distance = ms - this.#meanMs;
    this.#meanMs += weight * distance;
    this.#deviationMs += weight * (Math.abs(distance) * (this.#calls > 1 ? 1 : 0) - this.#deviationMs);
  }

  /**
   * When to reserve tasks for a call that cannot begin yet, so that a slot need not wait for the store between two calls. Undefined if
   * that gains little, or if it is uncertain when the running call ends: other workers could run these tasks meanwhile.
   */
  get earlyFill(): EarlyFill | undefined {
    const mean = this.#meanMs;
    if (this.#calls < LEAST || mean > LONGEST_MS || this.#deviationMs > (1 - ASK_AFTER) * mean) return undefined;
    return { askAfterMs: ASK_AFTER * mean, giveUpAfterMs: GIVE_UP_AFTER * mean };
  }
}
