import type { Outcome } from "../../task.ts";
import { stateOf } from "../fields.ts";

/** What task/follow.lua stores when a task with a webhook ends, or is called as a turn: the input of the delivery task. */
export interface StoredTaskEnd {
  readonly id: string;
  /** Letter of its outcome, or of `running`. */
  readonly state: string;
  readonly url: string;
}

/** The same for a group. */
export interface StoredGroupEnd {
  readonly group: string;
  readonly state: "done" | "canceled";
  readonly url: string;
}

/** The outcome of a task, or `running` when it was called. */
export const outcomeOf = (end: StoredTaskEnd): Outcome | "running" => stateOf(end.state) as Outcome | "running";
