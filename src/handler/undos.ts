import type { TaskContext } from "./task-context.ts";

/** The task whose work is undone; `signal`, `log`, `attempt`, `maxAttempts` and `fence` are those of the undo itself. */
export type UndoTask = Pick<
  TaskContext,
  | "id"
  | "queue"
  | "attempt"
  | "maxAttempts"
  | "fence"
  | "signal"
  | "log"
  | "query"
  | "mediaType"
  | "caller"
  | "traceHeaders"
>;

/** What an undo gets in addition to the value of its step. */
export interface UndoContext<I = unknown> {
  readonly input: I;
  readonly task: UndoTask;
  /** The name of the step, since one undo may be for several. */
  readonly name: string;
}

/** A step that was done, or, if its value is undefined, may have been done. */
export interface DoneStep {
  readonly name: string;
  readonly value: unknown;
}

/** What the undo of the whole task gets. */
export interface UndoAllContext<I = unknown> {
  readonly input: I;
  readonly task: UndoTask;
  /** All steps of the task, in the order in which they began. */
  readonly steps: readonly DoneStep[];
}

/**
 * Functions that undo what a task did, by the name of the step; a step `"book:42"` is undone by `book` if there is no undo for
 * its whole name. Each is called at least once with the step's value, the last step first; with `undefined` if it is unknown
 * whether the step was done. `"*"` undoes the rest of the task, after its steps.
 */
export interface Undos<I = unknown> {
  "*"?: (context: UndoAllContext<I>) => Promise<unknown> | unknown;
  // biome-ignore lint/suspicious/noExplicitAny: each step has a value of its own type, which only the handler's author knows
  [step: string]: ((value: any, context: UndoContext<I>) => Promise<unknown> | unknown) | undefined;
}

/** The undo of a step: that of its whole name, else that of the part before its first colon; undefined if there is none. */
export function undoOf(handler: { readonly undo: Undos | undefined }, step: string): Undos[string] {
  const { undo } = handler;
  if (undo === undefined) return undefined;
  const [kind = ""] = step.split(":", 1);
  // "*" is not a step, and a step may have the name of a property that every object inherits.
  const name = [step, kind].find((one) => one !== "*" && Object.hasOwn(undo, one));
  return name === undefined ? undefined : undo[name];
}
