import type { Engine } from "../engine/engine.ts";
import { messageOf } from "../errors.ts";
import type { Logger } from "../log.ts";
import type { Lease } from "../store/scripts.ts";

/** Shortest time between two reports of one task, ms. */
const LEAST_MS = 100;
/** Longest message kept. */
const MESSAGE_LENGTH = 200;

/** Sends the progress of one task: at most one report at a time and ten a second, of which the last always arrives. */
export class Reporter {
  readonly #engine: Engine;
  readonly #lease: Lease;
  readonly #log: Logger;
  #latest: { percent: number; message: string } | undefined;
  #busy = false;

  constructor(engine: Engine, lease: Lease, log: Logger) {
    this.#engine = engine;
    this.#lease = lease;
    this.#log = log;
  }

  /** @param percent 0–100; anything beyond is brought within, what is no number is 0 */
  report(percent: number, message: string): void {
    const within = Number.isFinite(percent) ? Math.round(Math.max(0, Math.min(100, percent)) * 10) / 10 : 0;
    this.#latest = { percent: within, message: message.slice(0, MESSAGE_LENGTH) };
    if (!this.#busy) void this.#send();
  }

  async #send(): Promise<void> {
    this.#busy = true;
    while (this.#latest) {
      const { percent, message } = this.#latest;
      this.#latest = undefined;
      try {
        await this.#engine.progress(this.#lease, percent, message);
      } catch (error) {
        // Progress is a courtesy: the task goes on, and the next report may arrive.
        this.#log.debug({ reason: messageOf(error) }, "progress was not reported");
      }
      await new Promise((resolve) => setTimeout(resolve, LEAST_MS).unref());
    }
    this.#busy = false;
  }
}
