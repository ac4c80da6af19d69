import type { Context } from "koa";
import { errorEntries, ProblemError } from "../../errors.ts";
import { schemaRef } from "../openapi/responses.ts";
import { shownProblem } from "../problems/problem.ts";
import { explain } from "../problems/texts.ts";
import type { Route } from "../route.ts";
import { type Pages, pagesFor } from "../task/pages.ts";

/** The targets of the `type` of problem documents: the explanation of a code, as JSON or as a page. */
export const problemRoutes = (pages: Pages | undefined): readonly Route[] => [
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
    run: (ctx) => explainProblem(ctx, pagesFor(ctx, pages)),
  },
];

function explainProblem(ctx: Context, pages: Pages | undefined): void {
  const entry = errorEntries.find(({ code }) => code === ctx.params.code);
  if (!entry) throw new ProblemError("not-found");
  const explanation = shownProblem(ctx, explain(entry.code));
  ctx.vary("Accept");
  if (pages) pages.problem(ctx, explanation);
  else ctx.body = explanation;
}
