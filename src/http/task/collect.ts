import type { Context } from "koa";
import type { Inspection } from "../../engine/watch/inspect.ts";
import { ProblemError } from "../../errors.ts";
import { isOutcome } from "../../task.ts";
import { readParameter } from "../../wire/request.ts";
import type { Api } from "../api.ts";
import { parameterRefs } from "../openapi/parameters.ts";
import { RESULTS, responseRef, responses } from "../openapi/responses.ts";
import { PARAMETERS, searchOf } from "../request/parameters.ts";
import { type Route, WATCH } from "../route.ts";
import { findTask } from "./find.ts";
import { TASK_PATHS } from "./links.ts";
import { type Pages, pagesFor, shownTask } from "./pages.ts";
import { hasResult, pendingHeaders, pendingTask, replyOutcome, replyPending } from "./reply.ts";
import { isCalled } from "./task-document.ts";
import { replyTurn } from "./turn.ts";

/** The result resource. */
export function collectRoutes(api: Api, pages: Pages | undefined): readonly Route[] {
  return [
    {
      name: "collect",
      method: "GET",
      path: TASK_PATHS.result,
      scopes: WATCH,
      signedLink: "task",
      tag: "Watch",
      summary: "Collect the result, or see the place in line",
      description:
        "A browser, whose `Accept` prefers text/html, gets the page of a task that has no result, with the same status.",
      parameters: parameterRefs("pending"),
      answers: {
        ...RESULTS,
        "200": responseRef("ResultOrTurn"),
        "202": { ...responses.Accepted, content: { ...responses.Accepted.content, "text/html": {} } },
      },
      run: (ctx) => collect(ctx, api, pagesFor(ctx, pages), ctx.params.id),
      showProblem: (ctx, error) => pages?.missing(ctx, error, api.embedOrigins) ?? false,
    },
  ];
}

async function collect(ctx: Context, api: Api, pages: Pages | undefined, id: string): Promise<void> {
  ctx.vary("Accept");
  const status = pendingStatus(ctx, api);
  const seen = await findTask(ctx, api, id, { result: true, inPieces: true });
  if (pages && !(isOutcome(seen.state) && hasResult(seen))) return replyPage(ctx, api, pages, { seen, status });
  if (isOutcome(seen.state)) replyOutcome(ctx, seen);
  else if (isCalled(seen)) replyTurn(ctx, api, seen);
  else replyPending(ctx, pendingTask(seen), status);
}

/** Answers a browser with the page of a task that has no result, with the status and headers that other clients get. */
function replyPage(ctx: Context, api: Api, pages: Pages, of: { seen: Inspection; status: 404 | 202 }): void {
  const { seen } = of;
  if (seen.deleted) throw new ProblemError("deleted");
  if (isOutcome(seen.state)) replyOutcome(ctx, seen);
  else pendingHeaders(ctx, pendingTask(seen));
  const status = isOutcome(seen.state) ? ctx.status : isCalled(seen) ? 200 : of.status;
  pages.task(ctx, shownTask(ctx, api, seen));
  ctx.status = status;
}

function pendingStatus(ctx: Context, api: Api): 404 | 202 {
  const asked = readParameter(searchOf(ctx), PARAMETERS.pending);
  if (asked === null) return api.pendingStatus;
  return asked === "202" ? 202 : 404;
}
