import type { Outcome } from "../../task.ts";
import { stateOf } from "../fields.ts";

/** What task/follow.lua stores when a task with a webhook ends: the input of the delivery task. */
export interface StoredTaskEnd {
  readonly id: string;
  /** Letter of its outcome. */
  readonly state: string;
  readonly url: string;
}

/** The same for a group. */
export interface StoredGroupEnd {
  readonly group: string;
  readonly state: "done" | "canceled";
  readonly url: string;
}

/** The outcome of a task. */
export const outcomeOf = (end: StoredTaskEnd): Outcome => stateOf(end.state) as Outcome;
