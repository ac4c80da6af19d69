import type { Context } from "koa";
import { readParameter } from "../../../wire/parameter.ts";
import type { Api } from "../../api.ts";
import { parsePrefer } from "../../headers/prefer.ts";
import { PARAMETERS, searchOf } from "../../input/parameters.ts";
import type { LiveTasks } from "../../live/live-tasks.ts";
import { untilGone } from "../../live/long-poll.ts";
import type { Endpoints } from "../../routes.ts";
import { responseOf } from "../../server/response.ts";
import { findTask } from "../../task/find.ts";
import { replyOutcome } from "../../task/reply.ts";

/** The output of a task, while it runs. */
export function outputEndpoints(api: Api, live: LiveTasks): Endpoints<"output"> {
  return { output: (ctx) => output(ctx, api, live) };
}

async function output(ctx: Context, api: Api, live: LiveTasks): Promise<void> {
  const id: string = ctx.params.id ?? "";
  const after = readParameter(searchOf(ctx), PARAMETERS.after);
  const seen = await findTask(ctx, api, id, { result: false });
  if (seen.state === "canceled" || seen.deleted || seen.expired) return replyOutcome(ctx, seen);
  const { wait, waitAsSent } = parsePrefer(ctx.get("Prefer"));
  if (ctx.method === "HEAD") {
    ctx.type = "application/x-ndjson";
    ctx.status = 200;
    return;
  }
  api.streams.add(ctx);
  if (waitAsSent !== undefined) responseOf(ctx).addHeader("Preference-Applied", waitAsSent);
  const reader = await live.followOutput(ctx, seen, after === null ? 0 : after + 1);
  if (wait !== undefined) reader.endAfter(wait * 1000, untilGone(ctx, api));
}
