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
