import type { Context } from "koa";
import type { Submission } from "../../engine/tasks/submission.ts";
import { readSubmitOptions } from "../../wire/submission.ts";
import type { Api } from "../api.ts";
import { checkedId, checkIdempotencyKey, requestId } from "../headers/request-id.ts";
import type { LiveTasks } from "../live/live-tasks.ts";
import { ANY_INPUT, inputOf } from "../openapi/inputs.ts";
import { parameterRefs, submitParameters } from "../openapi/parameters.ts";
import { SUBMITTED } from "../openapi/responses.ts";
import { accessOf, maySee } from "../request/access.ts";
import { readInput } from "../request/body.ts";
import { isAny } from "../request/etag.ts";
import { inputHandlerOf } from "../request/queue.ts";
import { DEFAULT_QUEUE, type Route, SUBMIT } from "../route.ts";
import { TASK_PATHS } from "../task/links.ts";
import { checkPreconditions, onlyCreates, type Preconditions, readPreconditions } from "../task/preconditions.ts";
import { assembleSubmission, withWebhook } from "./submission.ts";
import { type SubmitMode, submitAndAnswer } from "./submit.ts";

/** What the description of a submission says of its events. */
export const EVENTS_AS_ANSWER =
  "If `Accept` prefers text/event-stream: 200 at once, with the headers of a 202 and the events of the task (as from `/events`); `Prefer` is then not applied.";

const POST = {
  method: "POST",
  scopes: SUBMIT,
  submits: "under the caller's key",
  tag: "Submit",
  description: EVENTS_AS_ANSWER,
  answers: SUBMITTED,
} as const satisfies Partial<Route>;

const PUT = {
  method: "PUT",
  scopes: SUBMIT,
  submits: "under the path's id",
  tag: "Submit",
  description: `If the task is waiting, its input is replaced; it keeps its place, and the response is its document. ${EVENTS_AS_ANSWER}`,
  answers: SUBMITTED,
} as const satisfies Partial<Route>;

/** Submitting one task. */
export function submitRoutes(api: Api, live: LiveTasks): readonly Route[] {
  const parameters = submitParameters(api);
  const putParameters = [
    ...submitParameters(api, ({ name }) => name !== "X-Request-Id" && name !== "Idempotency-Key"),
    ...parameterRefs("If-Match", "If-None-Match-write"),
  ];
  return [
    {
      ...POST,
      name: "submit",
      path: "/v1/requests",
      summary: `Submit to the queue ${DEFAULT_QUEUE}`,
      parameters,
      body: inputOf(DEFAULT_QUEUE),
      run: (ctx) => submit(ctx, api, live, DEFAULT_QUEUE),
    },
    {
      ...POST,
      name: "submitTo",
      path: "/v1/queues/:queue/requests",
      summary: "Submit to any queue",
      parameters,
      body: ANY_INPUT,
      run: (ctx) => submit(ctx, api, live, ctx.params.queue),
    },
    {
      ...PUT,
      name: "put",
      path: TASK_PATHS.result,
      summary: `Submit to the queue ${DEFAULT_QUEUE} under an id of your choice`,
      parameters: putParameters,
      body: inputOf(DEFAULT_QUEUE),
      run: (ctx) => submit(ctx, api, live, DEFAULT_QUEUE, ctx.params.id),
    },
    {
      ...PUT,
      name: "putTo",
      path: "/v1/queues/:queue/requests/:id",
      summary: "Submit to any queue under an id of your choice",
      parameters: putParameters,
      body: ANY_INPUT,
      run: (ctx) => submit(ctx, api, live, ctx.params.queue, ctx.params.id),
    },
  ];
}

/** Reads a submission, submits it, and answers. @param pathId the id that a PUT has in its path */
async function submit(ctx: Context, api: Api, live: LiveTasks, queue: string, pathId?: string): Promise<void> {
  if (pathId !== undefined) checkedId(pathId);
  const handler = inputHandlerOf(api, queue);
  if (pathId === undefined) checkIdempotencyKey(ctx.headers);
  const given = readSubmitOptions(ctx.querystring, ctx.headers);
  const id = pathId ?? requestId(ctx);
  const checked = await readInput(ctx.req, handler, api.maxBodyBytes);
  const options = given.webhook === null ? given : await withWebhook(api, given, id);
  const submission = assembleSubmission(ctx, api, { id, handler, options, checked });
  const conditions = pathId === undefined ? undefined : readPreconditions(ctx);
  const put = pathId !== undefined;
  const mode = conditions ? { put, live, ...(await conditioned(ctx, api, submission, conditions)) } : { put, live };
  await submitAndAnswer(ctx, api, submission, mode);
}

/** The conditions of a PUT that the store has to check. @throws ProblemError precondition-failed */
async function conditioned(
  ctx: Context,
  api: Api,
  { id, options }: Submission,
  conditions: Preconditions,
): Promise<Pick<SubmitMode, "create" | "revision">> {
  if (onlyCreates(conditions) && !options.dryRun) return { create: true };
  const seen = await api.engine.inspector.inspect(id, { result: true, inPieces: true });
  // A submission under the id of another caller's task is refused without checking conditions, which would reveal something
  // about it.
  if (seen && !maySee(accessOf(ctx), seen)) return {};
  checkPreconditions(id, conditions, seen);
  return seen && conditions.ifMatch !== "" && !isAny(conditions.ifMatch) ? { revision: seen.revision } : {};
}
