import type { Engine } from "../engine/engine.ts";
import type { QueueSettings } from "../engine/settings.ts";
import type { Handler, TaskContext } from "../handler.ts";
import type { Logger } from "../log.ts";
import type { Lease, Reserved } from "../store/scripts.ts";
import { Reporter } from "./reporter.ts";
import { Steps } from "./steps.ts";

/** Why a handler is asked to stop. */
export type AbortCause = "timeout" | "canceled" | "lease-lost" | "shutdown";

/** The reason of a task's AbortSignal. */
export class TaskAborted extends Error {
  override readonly name = "AbortError";
  override readonly cause: AbortCause;
  constructor(cause: AbortCause) {
    super(`the task is to stop: ${cause}`);
    this.cause = cause;
  }
}

/** One attempt at one task: its lease, its signal and what the handler is given. */
export class Attempt {
  readonly task: Reserved;
  readonly settings: QueueSettings;
  readonly lease: Lease;
  /** Monotonic ms of the last time the lease was known to hold. */
  renewedAt = performance.now();
  readonly #abort = new AbortController();
  readonly #reporter: Reporter;
  readonly #steps: Steps;

  constructor(task: Reserved, settings: QueueSettings, engine: Engine, log: Logger) {
    this.task = task;
    this.settings = settings;
    this.lease = { queue: settings.queue, id: task.id, fence: task.fence };
    this.#reporter = new Reporter(engine, this.lease, log);
    this.#steps = new Steps(engine, this.lease);
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Why the handler was asked to stop; undefined while it was not. */
  get aborted(): AbortCause | undefined {
    const reason: unknown = this.signal.reason;
    return reason instanceof TaskAborted ? reason.cause : undefined;
  }

  /** Asks the handler to stop; the first cause stays. */
  abort(cause: AbortCause): void {
    if (!this.signal.aborted) this.#abort.abort(new TaskAborted(cause));
  }

  /** What the handler is given beside its input. */
  context(log: Logger): TaskContext {
    const { task, settings } = this;
    return {
      id: task.id,
      queue: settings.queue,
      attempt: task.attempt,
      maxAttempts: settings.attempts,
      fence: Number(task.fence),
      signal: this.signal,
      log,
      query: task.query === "" ? {} : (JSON.parse(task.query) as Record<string, string>),
      mediaType: task.mediaType,
      submittedAt: new Date(task.createdMs),
      caller: task.caller === "" ? null : task.caller,
      progress: (percent, message) => this.#reporter.report(percent, message ?? ""),
      step: (name, work, options) => this.#steps.step(name, work, options?.undo !== undefined),
    };
  }

  /** The input as the handler takes it: parsed and checked JSON, or bytes. @throws InvalidInput */
  async input(handler: Handler): Promise<unknown> {
    const { input, mediaType } = this.task;
    if (mediaType !== "application/json") return new Uint8Array(input);
    const value: unknown = JSON.parse(input.toString("utf8"));
    if (!handler.schema) return value;
    // Checked when it was submitted; once more since the schema may fill in defaults, or have changed with a new version.
    const checked = await handler.schema["~standard"].validate(value);
    if (checked.issues) throw new InvalidInput(checked.issues.map((issue) => issue.message).join("; "));
    return checked.value;
  }
}

/** A stored input that the handler's schema no longer accepts. */
export class InvalidInput extends Error {
  override readonly name = "InvalidInput";
}
