import type { Context } from "koa";
import type { Api } from "../api.ts";
import { logEnd } from "../audit-log.ts";
import { parameterRefs } from "../openapi/parameters.ts";
import { empty, json } from "../openapi/responses.ts";
import { accessOf, forbidden, mayEnd } from "../request/access.ts";
import { type Route, SUBMIT } from "../route.ts";
import { findTask } from "./find.ts";
import { TASK_PATHS } from "./links.ts";
import { checkPreconditions, readPreconditions } from "./preconditions.ts";
import { unknownTask } from "./reply.ts";
import { documentOf } from "./task-document.ts";

/** Canceling a task, or deleting its result. */
export function cancelRoutes(api: Api): readonly Route[] {
  return [
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
