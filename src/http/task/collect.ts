import type { Context } from "koa";
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
import { pendingHeaders, pendingTask, replyOutcome, replyPending } from "./reply.ts";
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
      description: "A browser, whose `Accept` prefers text/html, gets the page of the task, with the same status.",
      parameters: parameterRefs("pending", ...(pages ? (["raw"] as const) : [])),
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
  const isRaw = readParameter(searchOf(ctx), PARAMETERS.raw);
  if (pages && !isRaw) return replyPage(ctx, api, pages, { id, status });
  const seen = await findTask(ctx, api, id, { result: true, inPieces: true });
  if (isOutcome(seen.state)) replyOutcome(ctx, seen);
  else if (isCalled(seen)) replyTurn(ctx, api, seen);
  else replyPending(ctx, pendingTask(seen), status);
}

/** Answers a browser with the page of a task. Where there is no result, with the status and headers that other clients get. */
async function replyPage(ctx: Context, api: Api, pages: Pages, of: { id: string; status: 404 | 202 }): Promise<void> {
  const found = await findTask(ctx, api, of.id, { result: false });
  // Its result is a problem, which has the status.
  const seen = found.state === "failed" ? await findTask(ctx, api, of.id, { result: true, inPieces: true }) : found;
  if (seen.deleted) throw new ProblemError("deleted");
  const succeeded = seen.state === "succeeded" && !seen.expired;
  if (!isOutcome(seen.state)) pendingHeaders(ctx, pendingTask(seen));
  else if (succeeded) ctx.set("X-Task-State", seen.state);
  else replyOutcome(ctx, seen);
  const status = isOutcome(seen.state) ? (succeeded ? 200 : ctx.status) : isCalled(seen) ? 200 : of.status;
  pages.task(ctx, shownTask(ctx, api, seen));
  ctx.status = status;
}

function pendingStatus(ctx: Context, api: Api): 404 | 202 {
  const asked = readParameter(searchOf(ctx), PARAMETERS.pending);
  if (asked === null) return api.pendingStatus;
  return asked === "202" ? 202 : 404;
}
