import type { Context } from "koa";
import type { Group } from "../../wire/group.ts";
import { groupWords } from "./browser/group/group-words.ts";
import { hasEnded } from "./browser/ticket/ticket-words.ts";
import { html } from "./html.ts";
import { replyPage } from "./page.ts";
import { ticket } from "./ticket.ts";

/** A page without a script reloads after this many seconds. */
const REFRESH_S = "15";

const QUESTION = {
  title: "Cancel all its tasks?",
  consequence:
    "Those that wait lose their places in line, and what the others have done so far is discarded. Results stay.",
  no: "Keep them",
  yes: "Cancel the tasks",
};

/**
 * Answers with the page of a group in its current state, which the script of the page then keeps up to date.
 * @param cancel where its tasks can be canceled; "" if the reader may not
 */
export function replyGroupPage(ctx: Context, group: Group, cancel: string): void {
  const link = (rel: string) => group.links.find((found) => found.rel === rel)?.href ?? "";
  const words = groupWords(group);
  const data = { known: JSON.stringify(group), events: link("events"), share: link("self"), cancel };
  const content = html`<p class="actions"><a href="${link("results")}" rel="noreferrer">Results</a></p>`;
  ctx.status = hasEnded(group) ? 200 : 202;
  replyPage(ctx, {
    title: words.title,
    style: "ticket.css",
    script: "group.js",
    refresh: hasEnded(group) ? "" : REFRESH_S,
    body: ticket(words, { queue: group.queue, data, content, question: QUESTION }),
  });
}
