import type Router from "@koa/router";
import type { Context } from "koa";
import type { Inspection } from "../../engine/inspect.ts";
import { PaihaoError } from "../../errors.ts";
import { isId, isOutcome } from "../../task.ts";
import type { Api } from "../api.ts";
import { monitorDocument } from "../document.ts";
import { versionTag } from "../etag.ts";
import { paths } from "../links.ts";
import { pendingTask, unknownTask } from "../reply.ts";

/** Routes of the monitor: state, place in line, progress and estimate of a task. */
export function monitorRoutes(router: Router, api: Api): void {
  router.get("/v1/requests/:id/status", (ctx) => monitor(ctx, api, ctx.params.id ?? ""));
  router.get("/v1/queue/requests/:id", (ctx) => monitor(ctx, api, ctx.params.id ?? ""));
}

/** Looks at a task with its error, where it has one. @throws PaihaoError unknown, deleted */
export async function observe(api: Api, id: string): Promise<Inspection> {
  const { inspector } = api.engine;
  const seen = isId(id) ? await inspector.inspect(id, { result: false }) : null;
  if (!seen) throw unknownTask(id.slice(0, 128));
  if (seen.destroyed) throw new PaihaoError("deleted", undefined, { extensions: { id, queue: seen.queue } });
  // Results can be large: only of a failed task, where it is a problem document, is it looked at here.
  return seen.state === "failed" ? ((await inspector.inspect(id, { result: true })) ?? seen) : seen;
}

async function monitor(ctx: Context, api: Api, id: string): Promise<void> {
  const seen = await observe(api, id);
  ctx.set("ETag", versionTag(seen));
  ctx.set("Cache-Control", "no-store");
  if (!isOutcome(seen.state)) {
    ctx.set("Retry-After", String(pendingTask(seen).retryAfterS));
    ctx.set("Location", paths.monitor(id));
  }
  ctx.status = isOutcome(seen.state) ? 200 : 202;
  ctx.body = monitorDocument(seen, api.engine.settings(seen.queue).attempts);
  if (ctx.get("If-None-Match") !== "" && ctx.get("If-None-Match") === versionTag(seen)) {
    ctx.status = 304;
    ctx.body = null;
  }
}
