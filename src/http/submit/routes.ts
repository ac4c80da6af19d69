import type { Api } from "../api.ts";
import type { LiveTasks } from "../live/live-tasks.ts";
import { ANY_INPUT, inputOf } from "../openapi/inputs.ts";
import { parameterRefs, submitParameters } from "../openapi/parameters.ts";
import { SUBMITTED } from "../openapi/responses.ts";
import { DEFAULT_QUEUE, type Route, SUBMIT } from "../route.ts";
import { TASK_PATHS } from "../task/links.ts";
import { submit } from "./submit.ts";

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
