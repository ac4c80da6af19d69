import type { NoticedEnd } from "../../store/task/notices.ts";
import { decodeResult } from "../../store/task/record.ts";
import { isOutcome } from "../../task.ts";
import type { Inspection, Inspector, TaskEnd } from "./inspect.ts";
import type { Notices, Subscription } from "./notices.ts";
import { Sleep } from "./sleep.ts";

/** How often a wait polls, ms, since a notice may be lost. */
const LOOK_MS = 2000;

/** The result of a wait: the end of the task, or else the task as last read, which runs if that was waited for; null if it is unknown. */
export type WaitEnd = { readonly end: TaskEnd } | { readonly end: null; readonly seen: Inspection | null };

/** One caller's wait for one task. */
export class Wait {
  readonly #task: { readonly id: string; readonly queue: string };
  readonly #inspector: Inspector;
  readonly #listening: Subscription;
  /** The end, once a notice has reported it. */
  #end: NoticedEnd | undefined;
  /** A notice without the end has arrived: the task must be read. */
  #changed = false;
  /** The caller has left. */
  #left = false;
  readonly #forTurn: boolean;
  readonly #sleep = new Sleep();

  /**
   * Listens at once, even if the task is not submitted yet.
   * @param forTurn it is a turn: waits until it is called, too
   */
  constructor(
    task: { readonly id: string; readonly queue: string },
    { inspector, notices }: { readonly inspector: Inspector; readonly notices: Notices },
    forTurn = false,
  ) {
    this.#task = task;
    this.#forTurn = forTurn;
    this.#inspector = inspector;
    this.#listening = notices.listen(task, (notice) => {
      if (notice?.ended === false && !forTurn) return;
      if (notice?.end) this.#end = notice.end;
      else this.#changed = true;
      this.#sleep.wake();
    });
  }

  /**
   * Resolves when the task is terminal, the time is up or the caller {@link leave}s. Its record must already name this process.
   * @param deadlineMs on the clock of `Date.now()`
   * @param isNew it was submitted after this wait began, so there is nothing to read yet
   * @throws ProblemError store-unavailable
   */
  outcome(deadlineMs: number, isNew: boolean): Promise<WaitEnd> {
    const { ready } = this.#listening;
    if (!isNew || ready !== null) return this.#look(deadlineMs, ready);
    // The next notice of a new task is nearly always its end: one promise for that, instead of those of the loop.
    return new Promise((resolve) => {
      const woken = () => resolve(this.#end ? { end: this.#endOf(this.#end) } : this.#look(deadlineMs, null));
      if (this.#end || this.#changed || this.#left) woken();
      else this.#sleep.begin(Math.min(deadlineMs - Date.now(), LOOK_MS), woken);
    });
  }

  /** Reads the task, now and whenever it has changed, until it is terminal or the caller need not wait any longer. */
  async #look(deadlineMs: number, ready: Promise<void> | null): Promise<WaitEnd> {
    // Listen first, then read: otherwise the end could be missed in between.
    if (ready !== null) await ready;
    for (;;) {
      if (this.#end) return { end: this.#endOf(this.#end) };
      this.#changed = false;
      const attends = () => !this.#left;
      const seen = await this.#inspector.inspect(this.#task.id, { result: true, inPieces: true, attends });
      if (seen && isOutcome(seen.state)) return { end: seen };
      if (this.#forTurn && seen?.state === "running") return { end: null, seen };
      if (seen === null || deadlineMs <= Date.now() || this.#left) return { end: null, seen };
      if (!this.#end && !this.#changed) await this.#sleep.for(Math.min(deadlineMs - Date.now(), LOOK_MS));
    }
  }

  /** Ends the wait early: the task is read once more. */
  leave(): void {
    this.#left = true;
    this.#sleep.wake();
  }

  /** Stops listening; idempotent. */
  stop(): void {
    this.#listening.stop();
  }

  #endOf({ result, finishedMs, ...end }: NoticedEnd): TaskEnd {
    const { id, queue } = this.#task;
    const stored = result && decodeResult(result);
    // A cancel by time is announced without facts, so such an end never gets here.
    const never = { expired: false, deleted: false, canceledBy: null };
    return { id, queue, ...end, ...never, nowMs: finishedMs, finishedMs, result: stored };
  }
}
