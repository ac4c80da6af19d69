import type { Context } from "koa";
import { isOutcome } from "../../../task.ts";
import type { Api } from "../../api.ts";
import { versionId } from "../../headers/etag.ts";
import { isAnsweredWithoutEvents, lastEventId } from "../../live/last-event.ts";
import type { LiveTasks } from "../../live/live-tasks.ts";
import type { Endpoints } from "../../routes.ts";
import { observe } from "../../task/find.ts";

/** The monitor as Server-Sent Events. */
export function eventEndpoints(api: Api, live: LiveTasks): Endpoints<"follow"> {
  return { follow: (ctx) => events(ctx, api, live) };
}

async function events(ctx: Context, api: Api, live: LiveTasks): Promise<void> {
  const known = lastEventId(ctx);
  const seen = await observe(ctx, api, ctx.params.id ?? "");
  if (isAnsweredWithoutEvents(ctx, isOutcome(seen.state) && known === versionId(seen))) return;
  api.streams.add(ctx);
  await live.followEvents(ctx, seen, known);
}
