import type { Context } from "koa";
import { isOutcome } from "../../../task.ts";
import { oneParameter } from "../../../wire/parameter.ts";
import type { Api } from "../../api.ts";
import { versionId } from "../../headers/etag.ts";
import { searchOf } from "../../input/parameters.ts";
import type { LiveTasks } from "../../live/live-tasks.ts";
import type { Endpoints } from "../../routes.ts";
import { observe } from "../../task/find.ts";

/** The monitor as Server-Sent Events. */
export function eventEndpoints(api: Api, live: LiveTasks): Endpoints<"follow"> {
  return { follow: (ctx) => events(ctx, api, live) };
}

async function events(ctx: Context, api: Api, live: LiveTasks): Promise<void> {
  const id: string = ctx.params.id ?? "";
  const known = ctx.get("Last-Event-ID") || (oneParameter(searchOf(ctx), "lastEventId") ?? "");
  const seen = await observe(ctx, api, id);
  if (isOutcome(seen.state) && known === versionId(seen)) {
    // The client has received the last event: 204 stops an EventSource from reconnecting (WHATWG HTML §9.2.3).
    ctx.status = 204;
    return;
  }
  if (ctx.method === "HEAD") {
    ctx.type = "text/event-stream";
    ctx.status = 200;
    return;
  }
  api.streams.add(ctx);
  await live.followEvents(ctx, seen, known);
}
