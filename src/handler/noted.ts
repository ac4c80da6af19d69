import type { TaskContext } from "./task-context.ts";

/** Marks it on the task across copies of this module, since a handler file may load another copy than the server. */
const NOTED = Symbol.for("paihao.noted");

/** Records what the attempt has shown for the gate of its queue, as plain data; the last record counts. */
export function note(task: TaskContext, seen: object): void {
  Object.assign(task, { [NOTED]: seen });
}

/** What the handler of a task has recorded. */
export function notedOn(task: TaskContext): object | undefined {
  return (task as { readonly [NOTED]?: object })[NOTED];
}
