import { type Keys, tellsOfEnd } from "../../store/keys.ts";
import type { PubSub } from "../../store/pubsub.ts";
import { isOutcome } from "../../task.ts";
import type { Inspection, Inspector } from "../inspect.ts";

/** How often a waiter looks for itself, whatever it is told, ms: a notice may be lost. */
const LOOK_MS = 2000;

/** One caller's wait for one task. */
export class Wait {
  readonly #id: string;
  readonly #inspector: Inspector;
  readonly #listening: Promise<() => void>;
  #changed = false;
  #wake: (() => void) | undefined;

  constructor(id: string, inspector: Inspector, { pubsub, keys }: { pubsub: PubSub; keys: Keys }) {
    this.#id = id;
    this.#inspector = inspector;
    this.#listening = pubsub.listen(keys.taskChannel(id), (message) => this.#notice(message));
  }

  /**
   * Resolves with the task when it is terminal, or as it is when the time is up or the signal fires; null when it is unknown.
   * @param deadlineMs on the clock of `Date.now()`
   * @throws PaihaoError store-unavailable
   */
  async outcome(deadlineMs: number, signal: AbortSignal): Promise<Inspection | null> {
    // First listen, then look: else the end could slip through between.
    await this.#listening;
    for (;;) {
      this.#changed = false;
      const seen = await this.#inspector.inspect(this.#id, { result: true });
      const left = deadlineMs - Date.now();
      if (seen === null || isOutcome(seen.state) || left <= 0 || signal.aborted) return seen;
      if (!this.#changed) await this.#pause(Math.min(left, LOOK_MS), signal);
    }
  }

  /** Ends the listening; idempotent. */
  stop(): void {
    this.#listening.then((end) => end()).catch(() => undefined);
  }

  /** Null says that notices may have been missed. */
  #notice(message: string | null): void {
    if (message !== null && !tellsOfEnd(message)) return;
    this.#changed = true;
    this.#wake?.();
  }

  #pause(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        signal.removeEventListener("abort", done);
        this.#wake = undefined;
        resolve();
      };
      const timer = setTimeout(done, ms);
      signal.addEventListener("abort", done);
      this.#wake = done;
    });
  }
}
