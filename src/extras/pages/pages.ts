import type { Context } from "koa";
import type { Extension } from "../../extension.ts";
import type { ProblemExplanation } from "../../http/problems/texts.ts";
import type { Pages } from "../../http/shown-pages.ts";
import { replyPage } from "./render.ts";
import { pageRoutes } from "./routes.ts";
import { replyEmbeddedPage, replyMissingPage, replyTaskPage } from "./task/task-page.ts";

const shown: Pages = {
  task: replyTaskPage,
  embedded: replyEmbeddedPage,
  missing: replyMissingPage,
  problem: replyProblemPage,
};

/** Pages for people: a task, the dashboard, the API reference. */
export const pages: Extension = { start: () => ({ routes: () => pageRoutes, pages: shown }) };

function replyProblemPage(ctx: Context, { example, ...explanation }: ProblemExplanation): void {
  const { code, title, status } = explanation;
  replyPage(ctx, "docs/problem.html", {
    code,
    title,
    status: String(status),
    meaning: plain(explanation.meaning),
    action: plain(explanation.action),
    example: JSON.stringify(example, null, 2),
  });
}

/** Removes the backticks around code. */
function plain(text: string): string {
  return text.replaceAll("`", "");
}
