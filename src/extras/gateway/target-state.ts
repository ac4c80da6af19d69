import { note } from "../../handler/noted.ts";
import type { TaskContext } from "../../handler/task-context.ts";

/** What an attempt has shown about the API behind a gateway. */
export interface TargetState {
  /** `down`: it could not be reached, or answered 503; `unclear`: the connection broke off, or the answer took too long. */
  readonly state: "up" | "down" | "unclear";
  readonly reason: string;
  /** Whether the request may be sent again: it is idempotent, or was not sent. */
  readonly repeatable: boolean;
}

/** Records it for the circuit breaker. */
export const noteTarget = (task: TaskContext, seen: TargetState): void => note(task, seen);
