import type { Context } from "koa";
import { type ErrorCode, errorEntries, errorEntry, ProblemError } from "../../errors.ts";
import { schemaRef } from "../openapi/responses.ts";
import { prefersHtml } from "../request/accept.ts";
import type { Route } from "../route.ts";
import { type ProblemDocument, problemDocument, shownProblem } from "./problem.ts";
import { texts } from "./texts.ts";

/** The explanation of a code, for programs and people. */
export interface ProblemExplanation {
  readonly type: string;
  readonly code: ErrorCode;
  readonly status: number;
  readonly title: string;
  readonly meaning: string;
  readonly action: string;
  readonly example: ProblemDocument;
}

/** Explains a code of the catalogue. */
export function explain(code: ErrorCode): ProblemExplanation {
  const { status, title } = errorEntry(code);
  const { meaning, action, example: { detail, ...members } = {} } = texts[code];
  const example = problemDocument(code, detail, members);
  return { type: `/problems/${code}`, code, status, title, meaning, action, example };
}

/** The targets of the `type` of problem documents: the explanation of a code, as JSON or as a page. */
export const problemRoutes = (pages: ProblemPages | undefined): readonly Route[] => [
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
    run: (ctx) => explainProblem(ctx, pages),
  },
];

/** Pages that browsers get in place of explanations. */
interface ProblemPages {
  problem(ctx: Context, explanation: ProblemExplanation): void;
}

function explainProblem(ctx: Context, pages: ProblemPages | undefined): void {
  const entry = errorEntries.find(({ code }) => code === ctx.params.code);
  if (!entry) throw new ProblemError("not-found");
  const explanation = shownProblem(ctx, explain(entry.code));
  ctx.vary("Accept");
  if (pages && prefersHtml(ctx.get("Accept"))) pages.problem(ctx, explanation);
  else ctx.body = explanation;
}
