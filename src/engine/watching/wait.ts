import type { Keys } from "../../store/keys.ts";
import type { Notices } from "../../store/pubsub.ts";
import { isOutcome } from "../../task.ts";
import type { Inspection, Inspector } from "../inspect.ts";

/** How often a waiter looks for itself, whatever it is told, ms: a notice may be lost. */
const LOOK_MS = 2000;

/** What is told of a task when it ends, or its result does: the letter of its state, or that it was destroyed. */
const ENDS = new Set(["s", "f", "c", "g"]);

/** Waits for tasks on behalf of callers. */
export class Waiter {
  readonly #keys: Keys;
  readonly #notices: Notices;
  readonly #inspector: Inspector;

  constructor(keys: Keys, notices: Notices, inspector: Inspector) {
    this.#keys = keys;
    this.#notices = notices;
    this.#inspector = inspector;
  }

  /** Begins to listen for a task's end, which may not have been submitted yet; the caller stops it. */
  watch(id: string): Watch {
    return new Watch(id, this.#inspector, (listener) => this.#notices.listen(this.#keys.taskChannel(id), listener));
  }
}

/** One caller's wait for one task. */
export class Watch {
  readonly #id: string;
  readonly #inspector: Inspector;
  readonly #listening: Promise<() => void>;
  #changed = false;
  #wake: (() => void) | undefined;

  /** @param listen starts the listening; resolves when nothing is missed any more, with what ends it */
  constructor(
    id: string,
    inspector: Inspector,
    listen: (listener: (message: string | null) => void) => Promise<() => void>,
  ) {
    this.#id = id;
    this.#inspector = inspector;
    this.#listening = listen((message) => this.#notice(message));
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
    if (message !== null && !ENDS.has(message)) return;
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
