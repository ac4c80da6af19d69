import { monitorEventLoopDelay } from "node:perf_hooks";

/** How often the event loop has to turn, ms: shorter blocks are not seen. */
const RESOLUTION_MS = 50;
/** A block is told for at least so long, ms. */
const TOLD_MS = 60_000;

/**
 * The longest block of this process's event loop in the last minute or two. Reading does not end a block's time: those who ask while it is
 * blocked have given up when they are answered.
 */
export class LongestBlock {
  readonly #delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  #sinceMs = performance.now();
  /** Of the minute before, ms. */
  #beforeMs = 0;

  constructor() {
    this.#delays.enable();
  }

  /** Milliseconds. */
  get ms(): number {
    const nowMs = Math.max(0, this.#delays.max / 1e6 - RESOLUTION_MS);
    const longest = Math.max(this.#beforeMs, nowMs);
    if (performance.now() - this.#sinceMs > TOLD_MS) {
      this.#sinceMs = performance.now();
      this.#beforeMs = nowMs;
      this.#delays.reset();
    }
    return longest;
  }
}
