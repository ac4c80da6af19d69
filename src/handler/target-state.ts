import type { TaskContext } from "./task-context.ts";

/** What an attempt has shown about the API behind a gateway. */
export interface TargetState {
  /** `down`: it could not be reached, or answered 503; `unclear`: the connection broke off, or the answer took too long. */
  readonly state: "up" | "down" | "unclear";
  readonly reason: string;
  /** Whether the request may be sent again: it is idempotent, or was not sent. */
  readonly repeatable: boolean;
}

/** Marks it on the task across copies of this module, since a handler file may load another copy than the server. */
const TARGET = Symbol.for("paihao.target");

/** Records it for the code that runs the handler; the last record counts. */
export function noteTarget(task: TaskContext, seen: TargetState): void {
  Object.assign(task, { [TARGET]: seen });
}

/** What the handler of a task has recorded. */
export function notedTarget(task: TaskContext): TargetState | undefined {
  return (task as { readonly [TARGET]?: TargetState })[TARGET];
}
