import type { NoticedEnd } from "../../store/notice.ts";
import { decodeResult } from "../../store/result.ts";
import { isOutcome } from "../../task.ts";
import type { Inspection, Inspector, TaskEnd } from "../inspect.ts";
import type { Listening, Notices } from "./notices.ts";

/** How often a waiter looks for itself, whatever it is told, ms: a notice may be lost. */
const LOOK_MS = 2000;

/** What came of a wait: how the task ended; else the task as it was seen last, null where it is unknown. */
export type Waited = { readonly end: TaskEnd } | { readonly end: null; readonly seen: Inspection | null };

/** One caller's wait for one task. */
export class Wait {
  readonly #task: { readonly id: string; readonly queue: string };
  readonly #inspector: Inspector;
  readonly #listening: Listening;
  /** How it has ended, once that was told. */
  #end: NoticedEnd | undefined;
  /** Something has happened that is to be looked at. */
  #changed = false;
  #wake: (() => void) | undefined;

  /** Listens at once: the task need not have been submitted yet. */
  constructor(task: { readonly id: string; readonly queue: string }, inspector: Inspector, notices: Notices) {
    this.#task = task;
    this.#inspector = inspector;
    this.#listening = notices.listen(task.id, (notice) => {
      if (notice?.ended === false) return;
      if (notice?.end) this.#end = notice.end;
      else this.#changed = true;
      this.#wake?.();
    });
  }

  /**
   * Resolves when the task is terminal, the time is up or the signal fires. Its record must name this process by now.
   * @param deadlineMs on the clock of `Date.now()`
   * @param isNew it was submitted after this wait had begun: there is nothing to see yet
   * @throws PaihaoError store-unavailable
   */
  async outcome(deadlineMs: number, signal: AbortSignal, isNew: boolean): Promise<Waited> {
    const { ready } = this.#listening;
    // First listen, then look: else the end could slip through between.
    if (ready !== null) await ready;
    let look = !isNew || ready !== null;
    for (;;) {
      if (this.#end) return { end: this.#endOf(this.#end) };
      if (look || this.#changed) {
        this.#changed = false;
        const seen = await this.#inspector.inspect(this.#task.id, { result: true });
        if (seen && isOutcome(seen.state)) return { end: seen };
        if (seen === null || deadlineMs <= Date.now() || signal.aborted) return { end: null, seen };
      }
      if (!this.#end && !this.#changed) await this.#pause(Math.min(deadlineMs - Date.now(), LOOK_MS), signal);
      look = true;
    }
  }

  /** Ends the listening; idempotent. */
  stop(): void {
    this.#listening.stop();
  }

  #endOf({ result, finishedMs, ...end }: NoticedEnd): TaskEnd {
    const { id, queue } = this.#task;
    const stored = result && decodeResult(result);
    // Of one that its deadline has canceled no facts are told.
    const never = { expired: false, destroyed: false, pastDeadline: false };
    return { id, queue, ...end, ...never, nowMs: finishedMs, finishedMs, result: stored };
  }

  #pause(ms: number, signal: AbortSignal): Promise<void> {
    if (ms <= 0 || signal.aborted) return Promise.resolve();
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
