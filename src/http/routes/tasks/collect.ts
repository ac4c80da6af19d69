import type { Context } from "koa";
import { ProblemError } from "../../../errors.ts";
import { isOutcome } from "../../../task.ts";
import { readParameter } from "../../../wire/parameter.ts";
import type { Api } from "../../api.ts";
import { logEnd } from "../../audit-log.ts";
import { checkPreconditions, readPreconditions } from "../../headers/preconditions.ts";
import { PARAMETERS, searchOf } from "../../input/parameters.ts";
import { forbidden } from "../../middleware/authorize.ts";
import type { Endpoints } from "../../routes.ts";
import { accessOf, mayEnd } from "../../task/access.ts";
import { documentOf } from "../../task/documents/monitor-document.ts";
import { findTask, observeRequested } from "../../task/find.ts";
import { pendingTask, replyOutcome, replyPending, unknownTask } from "../../task/reply.ts";

/** The result resource. */
export function collectEndpoints(api: Api): Endpoints<"collect" | "cancel"> {
  return {
    collect: (ctx) => collect(ctx, api, ctx.params.id),
    cancel: (ctx) => cancel(ctx, api, ctx.params.id),
  };
}

async function collect(ctx: Context, api: Api, id: string): Promise<void> {
  const status = pendingStatus(ctx, api);
  const seen = await findTask(ctx, api, id, { result: true, inPieces: true });
  if (isOutcome(seen.state)) replyOutcome(ctx, seen);
  else replyPending(ctx, pendingTask(seen), status);
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
  const verdict = await engine.tasks.cancel(id, before.queue);
  ctx.set("Cache-Control", "no-store");
  if (verdict === "unknown") throw unknownTask(id);
  logEnd(ctx, api, before, verdict);
  if (verdict === "already" || verdict === "deleted") {
    ctx.status = 204;
    return;
  }
  if (verdict === "requested") {
    ctx.status = 202;
    ctx.body = documentOf(ctx, api, await observeRequested(api, before));
    return;
  }
  const after = await engine.tasks.inspect(id, { result: false });
  if (!after) throw new ProblemError("internal", "the task disappeared while it was being canceled");
  ctx.status = 200;
  ctx.body = documentOf(ctx, api, after);
}
