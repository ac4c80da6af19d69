import type { Context } from "koa";
import type { Inspection } from "../../engine/watch/inspect.ts";
import { DETAILS_LIMITS } from "../../store/task/details.ts";
import type { Timeline } from "../../wire/timeline.ts";
import { timestamp } from "../../wire/timestamp.ts";
import type { Api } from "../api.ts";
import type { ApiExtension, TimelineMembers, TimelineSubject } from "../extension.ts";
import { json } from "../openapi/responses.ts";
import { type Route, WATCH } from "../route.ts";
import { accessOf } from "./access.ts";
import { documentOf } from "./documents/monitor-document.ts";
import { attemptsOf, shown, stepDocument } from "./documents/timeline.ts";
import { observe } from "./find.ts";
import { unknownTask } from "./reply.ts";

/** What happened to a task. */
export function timelineRoutes(api: Api, extensions: readonly ApiExtension[]): readonly Route[] {
  return [
    {
      name: "timeline",
      method: "GET",
      path: "/v1/requests/:id/timeline",
      scopes: WATCH,
      tag: "Watch",
      summary: "What happened to a task: attempts, steps, undo, webhooks, input and result",
      description:
        "Workers, and the errors, stacks and logs of attempts, are shown only to API keys with the scope `read`.",
      answers: { "200": json("Its timeline.", "Timeline") },
      run: async (ctx) => {
        const id: string = ctx.params.id ?? "";
        const seen = await observe(ctx, api, id);
        const details = await api.engine.call("details", { id, queue: seen.queue });
        if (!details) throw unknownTask(id.slice(0, 128));
        // Workers, raw errors, stacks and logs are for operators.
        const of = { seen, details, all: accessOf(ctx).scopes.has("read") };
        const others = Promise.all(extensions.map((extension) => extension.timeline?.(api, of)));
        ctx.body = await timelineDocument(ctx, api, of, others);
      },
    },
  ];
}

async function timelineDocument(
  ctx: Context,
  api: Api,
  { seen, details, all }: TimelineSubject,
  others: Promise<readonly (TimelineMembers | undefined)[]>,
): Promise<Timeline> {
  const { attempts, omitted } = attemptsOf(seen, details, all);
  const [result, added] = await Promise.all([resultOf(api, seen), others]);
  const { undoneAt = null, ...members }: TimelineMembers = Object.assign({}, ...added);
  const { input, mediaType, query, steps, stepCount } = details;
  const short = input instanceof Buffer ? input : null;
  const length = typeof input === "number" ? input : null;
  return {
    task: documentOf(ctx, api, seen),
    caller: seen.caller,
    priority: details.priority,
    key: seen.key,
    dueAt: timestamp(seen.dueMs),
    query: query === "" ? {} : (JSON.parse(query) as Timeline["query"]),
    attempts,
    attemptsOmitted: omitted,
    steps: steps.map((step) => stepDocument(step, undoneAt)),
    stepsOmitted: Math.max(0, stepCount - steps.length),
    undo: null,
    webhooks: [],
    ...members,
    input: input === null || seen.expired ? null : shown(mediaType, short, length),
    result,
  };
}

/** The result of a task; if it failed, the problem that its caller collects. */
async function resultOf(api: Api, { id, state, expired }: Inspection): Promise<Timeline["result"]> {
  if ((state !== "succeeded" && state !== "failed") || expired) return null;
  const read = await api.engine.inspector.inspect(id, { result: true, maxBytes: DETAILS_LIMITS.bytes + 4096 });
  if (!read?.result) return { mediaType: "application/octet-stream", bytes: null, truncated: true, status: 200 };
  const { status, contentType, body } = read.result;
  const bytes = typeof body === "string" ? Buffer.from(body) : body;
  return { ...shown(contentType ?? "application/octet-stream", bytes, null), status };
}
