import type { Context } from "koa";
import type { Group } from "../../wire/group.ts";
import { count } from "../../words/numbers.ts";
import { groupWords } from "./browser/group/group-words.ts";
import { hasEnded } from "./browser/ticket/ticket-words.ts";
import { html, replyPage } from "./page.ts";
import { ticket } from "./ticket.ts";

/** A page without a script reloads after this many seconds. */
const REFRESH_S = "15";

/** What the page of a group shows that its document does not have. */
interface GroupParts {
  /** Where its tasks can be canceled; "" if the reader may not. */
  readonly cancel: string;
  /** Some of its tasks that have failed. */
  readonly failures: readonly { readonly name: string; readonly href: string; readonly reason: string }[];
}

/** Answers with the page of a group in its current state, which the script of the page then keeps up to date. */
export function replyGroupPage(ctx: Context, group: Group, { cancel, failures }: GroupParts): void {
  const link = (rel: string) => group.links.find((found) => found.rel === rel)?.href ?? "";
  const words = groupWords(group);
  const data = { known: JSON.stringify(group), events: link("events"), share: link("self"), cancel };
  const more = group.failed - failures.length;
  const list = html`
        <h2>Failed</h2>
        <ul>${failures.map(({ name, href, reason }) => html`<li>${href === "" ? html`<span>${name}</span>` : html`<a href="${href}">${name}</a>`} ${reason}</li>`)}</ul>
        ${more > 0 ? html`<p>And ${count(more)} more.</p>` : ""}`;
  const content = html`<section id="failures" class="shown failures">${failures.length > 0 ? list : ""}</section>
      <p class="actions"><a href="${link("results")}" rel="noreferrer">Results</a></p>`;
  ctx.status = hasEnded(group) ? 200 : 202;
  replyPage(ctx, {
    title: words.title,
    style: "card.css",
    script: "group.js",
    refresh: hasEnded(group) ? "" : REFRESH_S,
    body: ticket(words, { queue: group.queue, data, content }),
  });
}
