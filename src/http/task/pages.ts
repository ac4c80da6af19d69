import type { Context } from "koa";
import type { ProblemError } from "../../errors.ts";
import type { Task } from "../../wire/task.ts";
import type { ProblemExplanation } from "../problems/explanation.ts";
import { prefersHtml } from "../request/accept.ts";
import type { TaskLinks } from "./links.ts";

/** Pages that browsers get in place of documents. The core has none: see src/extras/pages. */
export interface Pages {
  /**
   * The page of a task in its current state, which the script of the page then keeps up to date.
   * @param at the links to it
   */
  task(ctx: Context, task: Task, at: TaskLinks): void;
  /**
   * The small page of a task, for a frame.
   * @param frames origins of the pages that may show it
   */
  embedded(ctx: Context, task: Task, frames: readonly string[]): void;
  /**
   * A page in place of a problem: the task is unknown, deleted, or cannot be read now.
   * @param frames origins of the pages that may show it, if the embedded page was asked for
   */
  missing(ctx: Context, error: ProblemError, frames: readonly string[]): true;
  /** What a problem means. */
  problem(ctx: Context, explanation: ProblemExplanation): void;
}

/** The pages for a sender that prefers them; undefined for any other, and if the server has none. */
export function pagesFor(ctx: Context, pages: Pages | undefined): Pages | undefined {
  return pages && prefersHtml(ctx.get("Accept")) ? pages : undefined;
}
