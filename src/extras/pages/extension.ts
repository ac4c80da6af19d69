import type { Context } from "koa";
import type { Extension } from "../../extension.ts";
import type { ProblemExplanation } from "../../http/problems/explanation.ts";
import { linkTo } from "../../http/request/forwarded.ts";
import { html, replyPage } from "./page.ts";
import { pageRoutes } from "./routes.ts";
import { replyEmbeddedPage, replyMissingPage, replyTaskPage } from "./task-page.ts";

const shown = {
  task: replyTaskPage,
  embedded: replyEmbeddedPage,
  missing: replyMissingPage,
  problem: replyProblemPage,
};

/** Pages for people: a task, the dashboard, the API reference. */
export const pages: Extension = { start: () => ({ routes: () => pageRoutes, pages: shown }) };

function replyProblemPage(ctx: Context, { code, title, status, meaning, action, example }: ProblemExplanation): void {
  const body = html`
    <main class="card problem">
      <header><span class="status">${status}</span> <code>${code}</code></header>
      <h1>${title}</h1>
      <h2>What it means</h2>
      <p>${plain(meaning)}</p>
      <h2>What to do</h2>
      <p>${plain(action)}</p>
      <h2>For example</h2>
      <pre><code>${JSON.stringify(example, null, 2)}</code></pre>
      <footer><a href="${linkTo(ctx, "/docs")}">API reference</a></footer>
    </main>`;
  replyPage(ctx, { title: `${status} ${code} · Paihao`, style: "card.css", body });
}

/** Removes the backticks around code. */
function plain(text: string): string {
  return text.replaceAll("`", "");
}
