import type { Context } from "koa";
import { errorEntry, type ProblemError } from "../../errors.ts";
import { linkTo } from "../../http/request/forwarded.ts";
import type { ShownTask } from "../../http/task/pages.ts";
import type { Task } from "../../wire/task.ts";
import { taskWords } from "./browser/task/task-words.ts";
import { hasEnded } from "./browser/ticket/ticket-words.ts";
import { html, replyPage } from "./page.ts";
import { ticket, ticketLines } from "./ticket.ts";

/** A page without a script reloads at Retry-After, at the latest after this many seconds, since places change meanwhile. */
const MAX_REFRESH_S = 15;

/** Answers with the page of a task in its current state, which the script of the page then keeps up to date. */
export function replyTaskPage(ctx: Context, { task, isTurn, support = "", at, raw }: ShownTask): void {
  const { monitor: share, events, output, cancel } = at;
  const words = taskWords(task, { isTurn, support });
  const data = { known: JSON.stringify(task), events, share, cancel, turns: String(isTurn), support };
  const content = html`<div id="content" data-output="${output}" data-result="${raw}">
        <p class="result"><a id="result" href="${raw}" rel="noreferrer">${collectOf(words.look, isTurn)}</a></p>
      </div>`;
  ctx.status = hasEnded(task) ? 200 : 202;
  replyPage(ctx, {
    title: words.title,
    style: "card.css",
    script: "task.js",
    refresh: refreshOf(ctx, task),
    images: "blob:",
    body: ticket(words, { queue: task.queue, data, content }),
  });
}

/**
 * Answers with the small page of a task, for a frame: it has no script, and reloads itself while the task is pending.
 * @param frames origins of the pages that may show it
 */
export function replyEmbeddedPage(ctx: Context, shown: ShownTask, frames: readonly string[]): void {
  const { task, isTurn, support = "", at, raw } = shown;
  const words = taskWords(task, { isTurn, support, isFramed: true });
  // Who works himself says on the page with the buttons when he has finished.
  const [href, text] = words.done === undefined ? [raw, collectOf(words.look, isTurn)] : [at.monitor, "Open your turn"];
  ctx.status = hasEnded(task) ? 200 : 202;
  const body = html`
    <main class="card ticket embed" data-state="${words.look}">
      ${ticketLines(words)}
      <p class="result"><a href="${href}" target="_blank" rel="noopener noreferrer">${text}</a></p>
    </main>`;
  replyPage(ctx, { title: words.title, style: "card.css", refresh: refreshOf(ctx, task), body, frames });
}

/**
 * Answers with a page in place of a problem: the task is unknown, deleted, or cannot be read now.
 * @param frames origins of the pages that may show it, if the embedded page was asked for
 */
export function replyMissingPage(ctx: Context, error: ProblemError, frames: readonly string[]): true {
  const { status, title, detail, isHome = false } = problemOf(ctx, error);
  ctx.status = status;
  ctx.vary("Accept");
  // The page reloads itself when the server can serve it.
  if (status === 503) ctx.set("Refresh", ctx.response.get("Retry-After"));
  const isEmbedded = /[?&]embed=true(?:&|$)/i.test(ctx.search);
  const body = html`
    <main class="card ticket" data-state="missing">
      <h1>${title}</h1>
      <p class="detail">${detail}</p>
      <p class="id">${ctx.params?.id ?? ""}</p>
      ${isHome ? html`<p class="actions"><a href="${linkTo(ctx, "/")}">What there is on this server</a></p>` : ""}
    </main>`;
  replyPage(ctx, { title, style: "card.css", body, frames: isEmbedded ? frames : [] });
  return true;
}

/** What the page says of an error, in words for whoever got a link: they read nothing about keys. */
function problemOf(ctx: Context, { code, message }: ProblemError): Missing {
  const { status, title } = errorEntry(code);
  if (code === "unauthenticated" && /[?&]signature=/.test(ctx.search))
    return {
      status,
      title: "This link has expired, or is not complete",
      detail: "Ask whoever gave it to you for a new one.",
    };
  if (code === "unauthenticated")
    return { status, title: "This page opens with its complete link", detail: "Ask whoever sent you here for it." };
  if (code === "unknown")
    return {
      status,
      title: "There is nothing under this id",
      detail: "The link is not complete, or what it was for is no longer kept.",
    };
  if (code === "not-found") return { status, title: "There is no such page", detail: "", isHome: true };
  return { status, title, detail: message === title ? "" : message };
}

/** What the page in place of a problem says. */
interface Missing {
  readonly status: number;
  readonly title: string;
  readonly detail: string;
  /** It leads to the page at the root. */
  readonly isHome?: boolean;
}

/** The text of the link to the result; "" while there is none. Most turns leave nothing. */
const collectOf = (look: string, isTurn: boolean) => (look === "succeeded" && !isTurn ? "Open the result" : "");

/** Seconds until a page without a script reloads itself; "" for never. */
function refreshOf(ctx: Context, task: Task): string {
  if (hasEnded(task)) return "";
  return String(Math.min(MAX_REFRESH_S, Number(ctx.response.get("Retry-After") || MAX_REFRESH_S)));
}
