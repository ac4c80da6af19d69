import type { Context } from "koa";
import { isOutcome } from "../../task.ts";
import type { Api } from "../api.ts";
import { versionId } from "../headers/etag.ts";
import { isAnsweredWithoutEvents, lastEventId } from "../live/last-event.ts";
import type { LiveTasks } from "../live/live-tasks.ts";
import { parameterRefs } from "../openapi/parameters.ts";
import { empty } from "../openapi/responses.ts";
import { type Route, WATCH } from "../route.ts";
import { observe } from "./find.ts";
import { TASK_PATHS } from "./links.ts";

/** The monitor as Server-Sent Events. */
export function eventRoutes(api: Api, live: LiveTasks): readonly Route[] {
  return [
    {
      name: "follow",
      method: "GET",
      path: TASK_PATHS.events,
      scopes: WATCH,
      signedLink: "task",
      tag: "Watch",
      summary: "The monitor as Server-Sent Events",
      description:
        "`event: status` at once and on every change, `event: output` for each value that the handler writes, finally `event: done`. The data is the document of the monitor, that of `output` an OutputValue; in `done` it has the result (JSON below 20 kB) or the problem. To resume after an event, send its id as `Last-Event-ID`.",
      parameters: parameterRefs("Last-Event-ID", "lastEventId"),
      answers: {
        "200": { description: "Events until the task has ended.", content: { "text/event-stream": {} } },
        "204": empty("The caller has already received the last event."),
      },
      run: (ctx) => events(ctx, api, live),
    },
  ];
}

async function events(ctx: Context, api: Api, live: LiveTasks): Promise<void> {
  const known = lastEventId(ctx);
  const seen = await observe(ctx, api, ctx.params.id ?? "");
  if (isAnsweredWithoutEvents(ctx, isOutcome(seen.state) && known === versionId(seen))) return;
  api.streams.add(ctx);
  await live.followEvents(ctx, seen, known);
}
