import type { Context } from "koa";
import { readParameter } from "../../wire/request.ts";
import type { Api } from "../api.ts";
import { parsePrefer } from "../headers/prefer.ts";
import { PARAMETERS, searchOf } from "../input/parameters.ts";
import type { LiveTasks } from "../live/live-tasks.ts";
import { parameterRefs } from "../openapi/parameters.ts";
import { headerRefs, schemaRef } from "../openapi/responses.ts";
import { type Route, WATCH } from "../route.ts";
import { findTask } from "./find.ts";
import { TASK_PATHS } from "./links.ts";
import { replyOutcome } from "./reply.ts";

/** The output of a task, while it runs. */
export function outputRoutes(api: Api, live: LiveTasks): readonly Route[] {
  return [
    {
      name: "output",
      method: "GET",
      path: TASK_PATHS.output,
      scopes: WATCH,
      signedLink: "task",
      tag: "Watch",
      summary: "What the handler writes while it runs",
      description:
        "A line for each value: those written so far, then new ones until the task ends. `Prefer: wait=N` ends the response after N seconds, `wait=0` after the values written so far. If a response breaks off, continue with `after`.",
      parameters: parameterRefs("after", "Prefer-wait"),
      answers: {
        "200": {
          description: "The values, in order.",
          headers: headerRefs("Preference-Applied"),
          content: { "application/x-ndjson": { schema: schemaRef("OutputValue") } },
        },
      },
      run: (ctx) => output(ctx, api, live),
    },
  ];
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
  if (waitAsSent !== undefined) ctx.set("Preference-Applied", waitAsSent);
  await live.followOutput(ctx, seen, after === null ? 0 : after + 1, wait === undefined ? undefined : wait * 1000);
}
