import type { Context } from "koa";
import { errorEntry, type PaihaoError } from "../../errors.ts";
import { isOutcome, type State } from "../../task.ts";
import { retryAfterOf, setRetryAfter } from "../headers/retry-after.ts";
import type { MonitorDocument } from "../task/document.ts";
import { paths } from "../task/links.ts";
import { replyPage } from "./render.ts";

/** The headline of the page in each state; its script reads them from the page. */
const HEADLINES: Readonly<Record<State, string>> = {
  waiting: "Place in line",
  scheduled: "Scheduled for later",
  running: "In progress",
  retrying: "Waiting to try again",
  succeeded: "Done",
  failed: "Failed",
  canceled: "Canceled",
};

/** Answers with the page of a task: what it is now, which its script then keeps up to date. */
export function replyTaskPage(ctx: Context, task: MonitorDocument): void {
  const { state } = task;
  const place = state === "waiting" && task.index !== null ? task.index + 1 : null;
  const done = isOutcome(task.state as State);
  ctx.status = done ? 200 : 202;
  replyPage(ctx, "task.html", {
    title: place === null ? HEADLINES[state as State] : `${place}. in line`,
    state,
    headline: HEADLINES[state as State],
    place: place === null ? "" : String(place),
    detail: task.error?.message ?? task.progress?.message ?? "",
    wait: task.eta && !done ? `about ${Math.ceil(task.eta.seconds)} s` : "",
    percent: String(task.progress?.percent ?? 0),
    queue: task.queue,
    id: task.id,
    created: task.createdAt,
    deadline: task.deadlineAt ?? "",
    dated: String(task.deadlineAt !== null && !done),
    result: task.links.find((link) => link.rel === (done ? "result" : "self"))?.href ?? paths.result(task.id),
    events: task.links.find((link) => link.rel === "events")?.href ?? paths.events(task.id),
    task: JSON.stringify(task),
    headlines: JSON.stringify(HEADLINES),
  });
}

/** Answers with a page in place of a problem: the task is unknown, destroyed, or cannot be looked at now. */
export function replyMissingPage(ctx: Context, error: PaihaoError): void {
  const { status, title } = errorEntry(error.code);
  ctx.status = status;
  ctx.set(error.headers);
  const retryAfterS = retryAfterOf(error);
  if (retryAfterS !== undefined) setRetryAfter(ctx, retryAfterS);
  // The page comes back by itself when the server can serve it.
  if (status === 503) ctx.set("Refresh", ctx.response.get("Retry-After"));
  replyPage(ctx, "missing.html", { title, detail: error.message === title ? "" : error.message });
}
