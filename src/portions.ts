import { setImmediate as turn } from "node:timers/promises";

/** For how long work may hold the event loop, ms. */
const HELD_MS = 5;

/** Long work of one request, which lets others run in between. */
export class Portions {
  #sinceMs = performance.now();

  /** To be awaited after each small part of the work. */
  async pause(): Promise<void> {
    if (performance.now() - this.#sinceMs < HELD_MS) return;
    await turn();
    this.#sinceMs = performance.now();
  }
}
