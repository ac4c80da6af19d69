import type { Engine } from "../engine/engine.ts";
import type { QueueSettings } from "../engine/settings.ts";
import { messageOf } from "../errors.ts";
import type { Logger } from "../log.ts";
import type { Lease, Reserved } from "../store/scripts.ts";
import type { Input } from "../task.ts";
import { type AbortCause, abortCauseOf, TaskAborted } from "./abort.ts";
import { insist } from "./insist.ts";
import { Reporter } from "./reporter.ts";
import type { StepStore } from "./steps.ts";
import type { TaskFacts } from "./task-context.ts";

/** One attempt at one task: its lease, its signal, its time, and its lines to the store. */
export class Attempt {
  readonly task: Reserved;
  readonly settings: QueueSettings;
  readonly lease: Lease;
  /** Its lines carry the attempt; those written while it is run carry the task's id too. */
  readonly log: Logger;
  /** Monotonic ms of the last time the lease was known to hold. */
  renewedAt: number;
  readonly #engine: Engine;
  readonly #abort = new AbortController();
  readonly #onAbort: (() => void)[] = [];
  #timer: NodeJS.Timeout | undefined;
  #reporter: Reporter | undefined;
  #steps: StepStore | undefined;

  /** @param takenAt monotonic ms from when the lease counts at the latest */
  constructor(task: Reserved, settings: QueueSettings, parts: { engine: Engine; log: Logger; takenAt: number }) {
    this.task = task;
    this.settings = settings;
    this.lease = { queue: settings.queue, id: task.id, fence: task.fence };
    this.log = parts.log.child({ queue: settings.queue, attempt: task.attempt });
    this.renewedAt = parts.takenAt;
    this.#engine = parts.engine;
  }

  /** Takes what the handler reports; most report nothing, and cost nothing here. */
  get reporter(): Reporter {
    this.#reporter ??= new Reporter(
      (percent, message) => this.#engine.progress(this.lease, percent, message),
      // Progress is a courtesy: the task goes on, and the next report may arrive.
      (error) => this.log.debug({ reason: messageOf(error) }, "progress was not reported"),
    );
    return this.#reporter;
  }

  /** Where the steps are kept; waits for a store that is away. */
  get steps(): StepStore {
    if (this.#steps === undefined) {
      const engine = this.#engine;
      const { lease, log } = this;
      const away = {
        done: () => this.signal.aborted,
        onFailure: (error: unknown) => log.warn({ reason: messageOf(error) }, "a step waits for the store"),
      };
      this.#steps = {
        load: () => insist(() => engine.steps(lease), away),
        keep: (name, json, undo) => insist(() => engine.keepStep(lease, name, json, undo), away),
      };
    }
    return this.#steps;
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Why the handler was asked to stop; undefined while it was not. */
  get aborted(): AbortCause | undefined {
    return abortCauseOf(this.signal);
  }

  /** Asks the handler to stop; the first cause stays. */
  abort(cause: AbortCause): void {
    if (this.signal.aborted) return;
    this.#abort.abort(new TaskAborted(cause));
    for (const listener of this.#onAbort) listener();
  }

  /** Calls back when the signal fires, or now when it has. Far cheaper than a listener to the signal itself. */
  whenAborted(listener: () => void): void {
    if (this.signal.aborted) listener();
    else this.#onAbort.push(listener);
  }

  /** The handler starts: its time begins. */
  begin(): void {
    const { timeoutMs } = this.settings;
    if (timeoutMs !== undefined) this.#timer = setTimeout(() => this.abort("timeout"), timeoutMs);
  }

  /** The handler has ended, or is no longer waited for. */
  end(): void {
    clearTimeout(this.#timer);
  }

  get input(): Input {
    return { bytes: this.task.input, mediaType: this.task.mediaType };
  }

  get facts(): TaskFacts {
    const { id, attempt, fence, query, mediaType, createdMs, caller } = this.task;
    const { queue, attempts: maxAttempts } = this.settings;
    return { id, queue, attempt, maxAttempts, fence, query, mediaType, createdMs, caller };
  }
}
