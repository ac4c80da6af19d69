import { setTimeout as delay } from "node:timers/promises";
import { ProblemError } from "../../errors.ts";

/** What looking through lists may take of the store's time, over all who look in this process. */
const SHARE = 0.2;
/** A step that had to wait for a busy store does not delay the next one for longer, ms. */
const MAX_PAUSE_MS = 50;
/** How many may look at a time: each takes a step in turn. */
const MAX_LOOKS = 8;
/** The Retry-After for one more, seconds: one of them may have ended by then. */
const RETRY_AFTER_S = 2;

/**
 * Searches, filtered lists and actions on many tasks: they look through lists in steps of a few milliseconds. Of all of them one step at a
 * time is taken, with a pause behind it, so that they do not delay submissions and workers, however many look.
 */
export class Scans {
  #looks = 0;
  /** Resolves when the next step may be taken. */
  #turn: Promise<unknown> = Promise.resolve();

  /** Looks through lists. @throws ProblemError rate-limited if too many do so already */
  async run<T>(look: () => Promise<T>): Promise<T> {
    if (this.#looks >= MAX_LOOKS) {
      const detail = `${MAX_LOOKS} requests search lists of tasks already.`;
      throw new ProblemError("rate-limited", detail, { retryAfterS: RETRY_AFTER_S });
    }
    this.#looks += 1;
    try {
      return await look();
    } finally {
      this.#looks -= 1;
    }
  }

  /**
   * Takes a step when its turn has come: a call of the store, or some that are sent together.
   * @throws ProblemError store-unavailable, also if a step before it has found that: it does not wait for the same
   */
  step<T>(call: () => Promise<T>): Promise<T> {
    let begunAt = 0;
    const taken = this.#turn.then(() => {
      begunAt = performance.now();
      return call();
    });
    const pause = () => delay(Math.min(MAX_PAUSE_MS, (performance.now() - begunAt) * (1 / SHARE - 1)));
    const turn = taken.then(pause, (error: unknown) => {
      if (error instanceof ProblemError && error.code === "store-unavailable") throw error;
      return pause();
    });
    turn.catch(() => {
      if (this.#turn === turn) this.#turn = Promise.resolve();
    });
    this.#turn = turn;
    return taken;
  }
}
