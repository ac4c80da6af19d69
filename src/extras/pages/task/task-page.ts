import type { Context } from "koa";
import { errorEntry, type ProblemError } from "../../../errors.ts";
import { paths } from "../../../http/task/links.ts";
import type { Task } from "../../../wire/task.ts";
import {
  aheadOf,
  attemptOf,
  collectOf,
  detailOf,
  hasEnded,
  headlineOf,
  isLong,
  lookOf,
  numberOf,
  titleOf,
  waitOf,
} from "../browser/task/task-words.js";
import { replyPage } from "../render.ts";

/** A page without a script reloads at Retry-After, at the latest after this many seconds, since places change meanwhile. */
const MAX_REFRESH_S = 15;

/**
 * Answers with the page of a task in its current state, which the script of the page then keeps up to date.
 * @param signature the query of its links, see `signatureOf`
 */
export function replyTaskPage(ctx: Context, task: Task, signature: string): void {
  const { id, deadlineAt } = task;
  ctx.status = hasEnded(task.state) ? 200 : 202;
  replyPage(ctx, "task/task.html", {
    ...wordsOf(task),
    id,
    created: task.createdAt,
    deadline: deadlineAt ?? "",
    dated: String(deadlineAt !== null && !hasEnded(task.state)),
    refresh: refreshOf(ctx, task),
    result: paths.result(id, signature),
    events: paths.events(id, signature),
    output: paths.output(id, signature),
    share: paths.monitor(id, signature),
    cancel: paths.result(id),
    task: JSON.stringify(task),
  });
}

/**
 * Answers with the small page of a task, for a frame: it has no script, and reloads itself while the task is pending.
 * @param frames origins of the pages that may show it
 */
export function replyEmbeddedPage(ctx: Context, task: Task, frames: readonly string[]): void {
  const link = (rel: string) => task.links.find((found) => found.rel === rel)?.href ?? "";
  ctx.status = hasEnded(task.state) ? 200 : 202;
  const values = { ...wordsOf(task), refresh: refreshOf(ctx, task), result: link("result") };
  replyPage(ctx, "task/embed.html", values, { frames });
}

/**
 * Answers with a page in place of a problem: the task is unknown, deleted, or cannot be read now.
 * @param frames origins of the pages that may show it, if the embedded page was asked for
 */
export function replyMissingPage(ctx: Context, error: ProblemError, frames: readonly string[]): true {
  const { status, title } = problemOf(ctx, error);
  ctx.status = status;
  ctx.vary("Accept");
  // The page reloads itself when the server can serve it.
  if (status === 503) ctx.set("Refresh", ctx.response.get("Retry-After"));
  const isEmbedded = /[?&]embed=true(?:&|$)/i.test(ctx.search);
  const detail = error.message === title ? "" : error.message;
  const id = String(ctx.params?.id ?? "");
  replyPage(ctx, "task/missing.html", { title, detail, id }, { frames: isEmbedded ? frames : [] });
  return true;
}

/** The title for an error. Holders of an expired link read nothing about keys. */
function problemOf(ctx: Context, { code }: ProblemError): { readonly status: number; readonly title: string } {
  const { status, title } = errorEntry(code);
  const isLink = code === "unauthenticated" && /[?&]signature=/.test(ctx.search);
  return { status, title: isLink ? "This link has expired, or is not complete" : title };
}

function wordsOf(task: Task) {
  const number = numberOf(task);
  return {
    title: titleOf(task),
    state: lookOf(task),
    queue: task.queue,
    headline: headlineOf(task),
    number,
    size: isLong(number) ? "long" : "short",
    ahead: aheadOf(task),
    attempt: attemptOf(task),
    detail: detailOf(task),
    collect: collectOf(task),
    wait: waitOf(task),
    percent: String(task.progress?.percent ?? 0),
  };
}

/** Seconds until a page without a script reloads itself; "" for never. */
function refreshOf(ctx: Context, task: Task): string {
  if (hasEnded(task.state)) return "";
  return String(Math.min(MAX_REFRESH_S, Number(ctx.response.get("Retry-After") || MAX_REFRESH_S)));
}
