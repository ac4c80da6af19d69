import type { Context } from "koa";
import type { Inspection } from "../../engine/watch/inspect.ts";
import type { ProblemError } from "../../errors.ts";
import type { Task } from "../../wire/task.ts";
import type { Api } from "../api.ts";
import type { ProblemExplanation } from "../problems/explanation.ts";
import { prefersHtml } from "../request/accept.ts";
import { linksFor, rawLink, type TaskLinks } from "./links.ts";
import { documentOf } from "./task-document.ts";

/** A task as a page shows it. */
export interface ShownTask {
  readonly task: Task;
  /** Whether it is of a queue of turns. */
  readonly isTurn: boolean;
  /** What its queue tells readers of a failed task to do. */
  readonly support: string | undefined;
  /** The links to it. */
  readonly at: TaskLinks;
  /** The link to its result, which gives a browser no page. */
  readonly raw: string;
}

/** Pages that browsers get in place of documents. The core has none: see src/extras/pages. */
export interface Pages {
  /** The page of a task in its current state, which the script of the page then keeps up to date. */
  task(ctx: Context, shown: ShownTask): void;
  /**
   * The small page of a task, for a frame.
   * @param frames origins of the pages that may show it
   */
  embedded(ctx: Context, shown: ShownTask, frames: readonly string[]): void;
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

/** A task as the pages show it to the sender of a request. */
export function shownTask(ctx: Context, api: Api, seen: Inspection): ShownTask {
  const at = linksFor(ctx, seen);
  const { support } = api.handlers.get(seen.queue) ?? {};
  return { task: documentOf(ctx, api, seen), isTurn: seen.longestMs !== null, support, at, raw: rawLink(at.result) };
}
