import { type AbortCause, type HandlerEnd, TaskAborted } from "../engine/tasks/attempt-end.ts";

/** How long a handler may continue after its signal has fired, ms, as in a worker. */
const GRACE_MS = 2000;

/** The signal of an attempt, and the causes that fire it. */
export class AttemptSignal {
  readonly #controller = new AbortController();
  readonly #timer: NodeJS.Timeout | undefined;
  readonly #caller: AbortSignal | undefined;
  readonly #cancel = () => this.#fire("canceled");
  cause: AbortCause | undefined;

  constructor(timeoutMs: number | undefined, caller: AbortSignal | undefined) {
    if (timeoutMs !== undefined) this.#timer = setTimeout(() => this.#fire("timeout"), timeoutMs);
    this.#caller = caller;
    caller?.addEventListener("abort", this.#cancel);
    if (caller?.aborted) this.#cancel();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Waits for the end, but only for a grace period after the signal has fired. */
  async within(end: HandlerEnd | Promise<HandlerEnd>): Promise<HandlerEnd> {
    let late: NodeJS.Timeout | undefined;
    const overdue = new Promise<HandlerEnd>((resolve) => {
      const wait = () => {
        late = setTimeout(() => resolve({ kind: "overdue" }), GRACE_MS);
      };
      if (this.signal.aborted) wait();
      else this.signal.addEventListener("abort", wait);
    });
    try {
      return await Promise.race([end, overdue]);
    } finally {
      clearTimeout(late);
      clearTimeout(this.#timer);
      this.#caller?.removeEventListener("abort", this.#cancel);
    }
  }

  #fire(cause: AbortCause): void {
    this.cause ??= cause;
    this.#controller.abort(new TaskAborted(cause));
  }
}
