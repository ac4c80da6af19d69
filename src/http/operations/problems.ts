import type { Context } from "koa";
import { errorEntries, ProblemError } from "../../errors.ts";
import { prefersHtml } from "../headers/accept.ts";
import { schemaRef } from "../openapi/responses.ts";
import { replyPage } from "../pages/render.ts";
import { explain } from "../problems/texts.ts";
import type { Route } from "../route.ts";

/** The targets of the `type` of problem documents: the explanation of a code, as JSON or as a page. */
export const problemRoutes: readonly Route[] = [
  {
    name: "explain",
    method: "GET",
    path: "/problems/:code",
    scopes: "none",
    tag: "Operations",
    summary: "What a problem means, and what to do",
    description: "An HTML page if `Accept` prefers text/html.",
    answers: {
      "200": {
        description: "The explanation.",
        content: { "application/json": { schema: schemaRef("ProblemExplanation") }, "text/html": {} },
      },
    },
    run: explainProblem,
  },
];

function explainProblem(ctx: Context): void {
  const entry = errorEntries.find(({ code }) => code === ctx.params.code);
  if (!entry) throw new ProblemError("not-found");
  const { example, ...explanation } = explain(entry.code);
  ctx.vary("Accept");
  if (prefersHtml(ctx.get("Accept"))) {
    const { code, title, status } = explanation;
    return replyPage(ctx, "docs/problem.html", {
      code,
      title,
      status: String(status),
      meaning: plain(explanation.meaning),
      action: plain(explanation.action),
      example: JSON.stringify(example, null, 2),
    });
  }
  ctx.body = { ...explanation, example };
}

/** Removes the backticks around code. */
function plain(text: string): string {
  return text.replaceAll("`", "");
}
