import type { AbortCause } from "../../engine/attempt/attempt-end.ts";

/** The reason of a task's AbortSignal. */
export class TaskAborted extends Error {
  override readonly name = "AbortError";
  override readonly cause: AbortCause;
  constructor(cause: AbortCause) {
    super(`the task must stop: ${cause}`);
    this.cause = cause;
  }
}
