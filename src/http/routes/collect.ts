import type Router from "@koa/router";
import type { Context } from "koa";
import { PaihaoError } from "../../errors.ts";
import { isId, isOutcome } from "../../task.ts";
import type { Api } from "../api.ts";
import { monitorDocument } from "../document.ts";
import { oneParameter, searchOf, wrongParameter } from "../options.ts";
import { pendingTask, replyOutcome, replyPending, unknownTask } from "../reply.ts";

/** Routes of the result resource. */
export function collectRoutes(router: Router, api: Api): void {
  router.get("/v1/requests/:id", (ctx) => collect(ctx, api, ctx.params.id ?? ""));
  router.delete("/v1/requests/:id", (ctx) => cancel(ctx, api, ctx.params.id ?? ""));
}

async function collect(ctx: Context, api: Api, id: string): Promise<void> {
  const status = pendingStatus(ctx, api);
  const seen = isId(id) ? await api.engine.inspector.inspect(id, { result: true }) : null;
  if (!seen) throw unknownTask(id.slice(0, 128));
  if (isOutcome(seen.state)) replyOutcome(ctx, seen);
  else replyPending(ctx, pendingTask(seen), status);
}

function pendingStatus(ctx: Context, api: Api): 404 | 202 {
  const asked = oneParameter(searchOf(ctx), "pending");
  if (asked === null) return api.pendingStatus;
  if (asked !== "202" && asked !== "404") throw wrongParameter("pending", "expected 202 or 404");
  return asked === "202" ? 202 : 404;
}

async function cancel(ctx: Context, api: Api, id: string): Promise<void> {
  const { engine } = api;
  const before = isId(id) ? await engine.inspector.inspect(id, { result: false }) : null;
  if (!before) throw unknownTask(id.slice(0, 128));
  const verdict = await engine.cancel(id, before.queue);
  ctx.set("Cache-Control", "no-store");
  if (verdict === "unknown") throw unknownTask(id);
  if (verdict === "already" || verdict === "destroyed") {
    ctx.status = 204;
    return;
  }
  const after = await engine.inspector.inspect(id, { result: false });
  if (!after) throw new PaihaoError("internal", "the task vanished while it was canceled");
  ctx.status = verdict === "requested" && !isOutcome(after.state) ? 202 : 200;
  ctx.body = monitorDocument(after, engine.settings(after.queue).attempts);
}
