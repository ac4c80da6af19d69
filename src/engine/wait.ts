import type { Keys } from "../store/keys.ts";
import type { Notices } from "../store/notices.ts";
import { isOutcome } from "../task.ts";
import type { Inspection, Inspector } from "./inspect.ts";

/** How often a waiter looks for itself, whatever it is told, ms: a notice may be lost. */
const LOOK_MS = 2000;

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

  /**
   * Begins to listen for a task's changes. To miss nothing: call this first, then submit, then {@link Watch.outcome}.
   */
  async watch(id: string): Promise<Watch> {
    const watch = new Watch(id, this.#inspector);
    watch.stop = await this.#notices.listen(this.#keys.taskChannel(id), (message) => watch.notice(message));
    return watch;
  }
}

/** One caller's wait for one task. */
export class Watch {
  readonly #id: string;
  readonly #inspector: Inspector;
  #changed = false;
  #wake: (() => void) | undefined;
  /** Ends the listening. */
  stop: () => void = () => undefined;

  constructor(id: string, inspector: Inspector) {
    this.#id = id;
    this.#inspector = inspector;
  }

  /** Told what the task's channel says; of a wait for the outcome only a terminal state is news, or the unknown. */
  notice(message: string | null): void {
    if (message !== null && !"sfcg".includes(message)) return;
    this.#changed = true;
    this.#wake?.();
  }

  /**
   * Resolves with the task when it is terminal, or as it is when the time is up; null when it is unknown.
   * @param deadlineMs on the clock of `Date.now()`
   * @throws PaihaoError store-unavailable
   */
  async outcome(deadlineMs: number, signal: AbortSignal): Promise<Inspection | null> {
    for (;;) {
      this.#changed = false;
      const seen = await this.#inspector.inspect(this.#id, { result: true });
      const left = deadlineMs - Date.now();
      if (seen === null || isOutcome(seen.state) || left <= 0 || signal.aborted) return seen;
      if (!this.#changed) await this.#pause(Math.min(left, LOOK_MS), signal);
    }
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
