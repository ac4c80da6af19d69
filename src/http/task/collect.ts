import type { Context } from "koa";
import type { Inspection } from "../../engine/watch/inspect.ts";
import { ProblemError } from "../../errors.ts";
import { isOutcome } from "../../task.ts";
import { readParameter } from "../../wire/parameter.ts";
import type { Api } from "../api.ts";
import { logEnd } from "../audit-log.ts";
import { checkPreconditions, readPreconditions } from "../headers/preconditions.ts";
import { PARAMETERS, searchOf } from "../input/parameters.ts";
import { forbidden } from "../middleware/authorize.ts";
import { parameterRefs } from "../openapi/parameters.ts";
import { empty, json, RESULTS, responses } from "../openapi/responses.ts";
import { type Route, SUBMIT, WATCH } from "../route.ts";
import { pagesFor } from "../shown-pages.ts";
import { accessOf, mayEnd } from "./access.ts";
import { documentOf } from "./documents/monitor-document.ts";
import { findTask } from "./find.ts";
import { linksFor, TASK_PATHS } from "./links.ts";
import { hasResult, pendingTask, replyOutcome, replyPending, unknownTask } from "./reply.ts";

/** The result resource. */
export function collectRoutes(api: Api): readonly Route[] {
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
        "202": { ...responses.Accepted, content: { ...responses.Accepted.content, "text/html": {} } },
      },
      run: (ctx) => collect(ctx, api, ctx.params.id),
      showProblem: (ctx, error) => api.pages?.missing(ctx, error, api.embedOrigins) ?? false,
    },
    {
      name: "cancel",
      method: "DELETE",
      path: TASK_PATHS.result,
      scopes: SUBMIT,
      tag: "Submit",
      summary: "Cancel the task; if it has ended, delete its result",
      parameters: parameterRefs("If-Match", "If-None-Match-write"),
      answers: {
        "200": json("The task is canceled.", "Task"),
        "202": json("The task is running: its handler was asked to stop.", "Task"),
        "204": empty("The result is deleted, or was gone already."),
      },
      run: (ctx) => cancel(ctx, api, ctx.params.id),
    },
  ];
}

async function collect(ctx: Context, api: Api, id: string): Promise<void> {
  ctx.vary("Accept");
  const status = pendingStatus(ctx, api);
  const seen = await findTask(ctx, api, id, { result: true, inPieces: true });
  if (isOutcome(seen.state)) replyOutcome(ctx, seen);
  else replyPending(ctx, pendingTask(seen), status);
  showPage(ctx, api, seen);
}

/** Shows a browser the page of a task that has no result, with the status and headers that other clients get. */
function showPage(ctx: Context, api: Api, seen: Inspection): void {
  const pages = pagesFor(ctx, api);
  if (!pages || (isOutcome(seen.state) && hasResult(seen))) return;
  if (seen.deleted) throw new ProblemError("deleted");
  const { status } = ctx;
  pages.task(ctx, documentOf(ctx, api, seen), linksFor(ctx, seen));
  ctx.status = status;
}

function pendingStatus(ctx: Context, api: Api): 404 | 202 {
  const asked = readParameter(searchOf(ctx), PARAMETERS.pending);
  if (asked === null) return api.pendingStatus;
  return asked === "202" ? 202 : 404;
}

async function cancel(ctx: Context, api: Api, id: string): Promise<void> {
  const { engine } = api;
  const conditions = readPreconditions(ctx);
  const before = await findTask(ctx, api, id, { result: conditions !== undefined, inPieces: true });
  if (!mayEnd(accessOf(ctx), before)) throw forbidden(["admin"]);
  if (conditions) checkPreconditions(id, conditions, before);
  const { verdict, seen } = await engine.inspector.cancel(before);
  if (!seen) throw unknownTask(id);
  logEnd(ctx, api, before, verdict);
  if (verdict === "already" || verdict === "deleted") {
    ctx.status = 204;
    return;
  }
  ctx.status = verdict === "requested" ? 202 : 200;
  ctx.body = documentOf(ctx, api, seen);
}
