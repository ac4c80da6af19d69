import type { StepVerdict } from "../../../src/store/task/attempt.ts";
import type { ModelTask } from "./task.ts";

/** What a worker tells of a step. */
export interface StepCall {
  readonly verb: "begin" | "keep" | "undone";
  readonly name: string;
  readonly value: string;
  readonly undo: boolean;
}

/** Plays it on a task that is the worker's. How a step was begun, it stays, and so does its place. */
export function playStep(task: ModelTask, { verb, name, value, undo }: StepCall): StepVerdict {
  const step = task.steps.get(name);
  if (verb === "undone") {
    if (step) task.steps.set(name, { ...step, undo: "done" });
    return "ok";
  }
  if (verb === "begin" && task.cancelRequested) return task.late ?? "canceled";
  const undoable = verb === "begin" || undo;
  task.undoable ||= undoable;
  task.steps.set(name, {
    value: verb === "keep" ? value : (step?.value ?? null),
    undo: step?.undo ?? (undoable ? "due" : "none"),
  });
  return "ok";
}
