import type { Outcome } from "../task.ts";
import { stateOf } from "./letters.ts";

/** What lua/follow.lua notes when a task with a webhook ends: the input of the task that delivers it. */
export interface StoredTaskEnd {
  readonly id: string;
  /** Letter of its outcome. */
  readonly state: string;
  readonly url: string;
}

/** The outcome that it notes. */
export const outcomeOf = (end: StoredTaskEnd): Outcome => stateOf(end.state) as Outcome;
