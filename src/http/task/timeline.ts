import type { Context } from "koa";
import type { Inspection } from "../../engine/reading/inspect.ts";
import { INTERNAL_QUEUES, isUndoQueue } from "../../handler/internal-queues.ts";
import { DETAILS_LIMITS, type TaskDetails } from "../../store/verbs/scripts.ts";
import type { Timeline } from "../../wire/timeline.ts";
import { timestamp } from "../../wire/timestamp.ts";
import type { Api } from "../api.ts";
import { json } from "../openapi/responses.ts";
import { shownKey } from "../queues/list-filter.ts";
import { type Route, WATCH } from "../route.ts";
import { accessOf } from "./access.ts";
import { documentOf, errorOf, WITH_PROBLEM } from "./documents/monitor-document.ts";
import { attemptsOf, shown, stepDocument } from "./documents/timeline.ts";
import { observe } from "./find.ts";
import { unknownTask } from "./reply.ts";

/** What happened to a task. */
export function timelineRoutes(api: Api): readonly Route[] {
  return [
    {
      name: "timeline",
      method: "GET",
      path: "/v1/requests/:id/timeline",
      scopes: WATCH,
      tag: "Watch",
      summary: "What happened to a task: attempts, steps, undo, webhooks, input and result",
      description: "Workers and the errors of attempts are shown only to API keys with the scope `read`.",
      answers: { "200": json("Its timeline.", "Timeline") },
      run: async (ctx) => {
        const id: string = ctx.params.id ?? "";
        const seen = await observe(ctx, api, id);
        const details = await api.engine.tasks.details(id, seen.queue);
        if (!details) throw unknownTask(id.slice(0, 128));
        ctx.body = await timelineDocument(ctx, api, seen, details);
      },
    },
  ];
}

async function timelineDocument(ctx: Context, api: Api, seen: Inspection, details: TaskDetails): Promise<Timeline> {
  // Workers and raw errors are for operators.
  const all = accessOf(ctx).scopes.has("read");
  const { attempts, omitted } = attemptsOf(seen, details, all);
  const [result, undo, webhooks] = await Promise.all([
    resultOf(api, seen),
    undoOf(api, details, all),
    webhooksOf(api, seen, details, all),
  ]);
  const { input, mediaType, query, steps, stepCount } = details;
  // An undo task shows the steps of the task that it undoes.
  const ended = isUndoQueue(seen.queue) ? { state: seen.state, finishedAt: timestamp(seen.finishedMs) } : undo;
  const undoneAt = ended?.state === "succeeded" ? ended.finishedAt : null;
  const short = input instanceof Buffer ? input : null;
  const length = typeof input === "number" ? input : null;
  const task = documentOf(ctx, api, seen);
  // A handler that gives up answers with its own problem, which has no stack.
  const hasStack = attempts.some(({ error }) => error !== null && !task.error?.message.startsWith(error));
  return {
    task,
    caller: seen.caller,
    priority: details.priority,
    key: shownKey(details.key),
    dueAt: timestamp(seen.dueMs),
    query: query === "" ? {} : (JSON.parse(query) as Timeline["query"]),
    attempts,
    stack: hasStack ? `in the worker's log, under requestId ${seen.id}` : null,
    attemptsOmitted: omitted,
    steps: steps.map((step) => stepDocument(step, undoneAt)),
    stepsOmitted: Math.max(0, stepCount - steps.length),
    undo,
    webhooks,
    input: input === null || seen.expired ? null : shown(mediaType, short, length),
    result,
  };
}

/** The result of a task; if it failed, the problem that its caller collects. */
async function resultOf(api: Api, { id, state, expired }: Inspection): Promise<Timeline["result"]> {
  if ((state !== "succeeded" && state !== "failed") || expired) return null;
  const read = await api.engine.tasks.inspect(id, { result: true, maxBytes: DETAILS_LIMITS.bytes + 4096 });
  if (!read?.result) return { mediaType: "application/octet-stream", bytes: null, truncated: true, status: 200 };
  const { status, contentType, body } = read.result;
  const bytes = typeof body === "string" ? Buffer.from(body) : body;
  return { ...shown(contentType ?? "application/octet-stream", bytes, null), status };
}

/** The undo of the task; null if there is none. */
async function undoOf(api: Api, { undo: id }: TaskDetails, all: boolean): Promise<Timeline["undo"]> {
  const seen = id === "" ? null : await api.engine.tasks.inspect(id, WITH_PROBLEM);
  if (!seen) return null;
  return {
    id,
    state: seen.state,
    attempt: seen.attempts,
    startedAt: timestamp(seen.startedMs),
    finishedAt: timestamp(seen.finishedMs),
    error: all ? (errorOf(seen)?.message ?? null) : null,
  };
}

/** The deliveries of its webhook: one for each end of the task that is still stored. */
async function webhooksOf(
  api: Api,
  seen: Inspection,
  { webhook, past }: TaskDetails,
  all: boolean,
): Promise<Timeline["webhooks"]> {
  if (webhook === "") return [];
  const ends = past.flatMap(({ fate, endedMs }) => (fate === "dead" ? [endedMs] : []));
  if (seen.finishedMs !== null) ends.push(seen.finishedMs);
  const maxAttempts = api.engine.queues.settings(INTERNAL_QUEUES.webhooks).attempts;
  const deliveries = ends.map(async (endMs) => {
    const id = `${seen.id}:webhook:${endMs}`;
    const [delivery, details] = await Promise.all([
      api.engine.tasks.inspect(id, WITH_PROBLEM),
      // It is in the partition of its task.
      api.engine.tasks.details(id, seen.queue),
    ]);
    if (!delivery || !details) return [];
    const { state, attempts: attempt, dueMs, finishedMs } = delivery;
    return [
      {
        ...{ id, url: webhook, state, attempt, maxAttempts },
        nextAttemptAt: timestamp(dueMs),
        finishedAt: timestamp(finishedMs),
        ...{ attempts: attemptsOf(delivery, details, all).attempts },
      },
    ];
  });
  return (await Promise.all(deliveries)).flat();
}
