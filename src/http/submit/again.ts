import type { Context } from "koa";
import type { Inspection } from "../../engine/watch/inspect.ts";
import { ProblemError } from "../../errors.ts";
import type { Handler } from "../../handler/define.ts";
import { readSubmitOptions, repeatedOptions, type SubmitOptions } from "../../wire/submission.ts";
import type { Api } from "../api.ts";
import { checkIdempotencyKey, requestId } from "../headers/request-id.ts";
import type { LiveTasks } from "../live/live-tasks.ts";
import { ANY_INPUT } from "../openapi/inputs.ts";
import { submitParameters } from "../openapi/parameters.ts";
import { SUBMITTED } from "../openapi/responses.ts";
import { accessOf, forbidden, mayEnd } from "../request/access.ts";
import { type CheckedInput, checkInput, isEmpty, readInput } from "../request/body.ts";
import { inputHandlerOf } from "../request/queue.ts";
import { type Route, SUBMIT } from "../route.ts";
import { observe } from "../task/find.ts";
import { storedInput } from "../task/input.ts";
import { linksFor, TASK_PATHS } from "../task/links.ts";
import { conflict } from "./refusal.ts";
import { EVENTS_AS_ANSWER } from "./routes.ts";
import { assembleSubmission, withWebhook } from "./submission.ts";
import { submitAndAnswer } from "./submit.ts";

/** Submitting the input of a task again, as it was or edited. */
export function againRoutes(api: Api, live: LiveTasks): readonly Route[] {
  return [
    {
      name: "again",
      method: "POST",
      path: TASK_PATHS.again,
      scopes: SUBMIT,
      submits: "under the caller's key",
      tag: "Submit",
      summary: "Submit the input of a task again, or an edited one, as a new task",
      description: `An empty body stands for the input that the task was given, as long as that is kept; else 410 \`expired\`. ${EVENTS_AS_ANSWER}`,
      parameters: submitParameters(api),
      body: { ...ANY_INPUT, required: false },
      answers: SUBMITTED,
      run: (ctx) => again(ctx, api, live, ctx.params.id),
    },
  ];
}

async function again(ctx: Context, api: Api, live: LiveTasks, original: string): Promise<void> {
  checkIdempotencyKey(ctx.headers);
  const asked = readSubmitOptions(ctx.querystring, ctx.headers);
  const id = requestId(ctx);
  if (id === original) throw conflict(id, "The new task needs an id of its own.");
  const task = await observe(ctx, api, original);
  if (!mayEnd(accessOf(ctx), task)) throw forbidden(["admin"]);
  const handler = inputHandlerOf(api, task.queue);
  const given = repeatedOptions(asked, task);
  const { checked, options } = isEmpty(ctx.req)
    ? await repeated(api, task, handler, given)
    : { checked: await readInput(ctx.req, handler, api.maxBodyBytes), options: given };
  const parts = { id, handler, options: await withWebhook(api, options, id), checked, original: task };
  ctx.append("Link", `<${linksFor(ctx, task).result}>; rel="original"`);
  await submitAndAnswer(ctx, api, assembleSubmission(ctx, api, parts), { put: false, live });
}

/** The input that the task was given, and the handler's parameters unless others are given. @throws ProblemError expired */
async function repeated(
  api: Api,
  { id, queue, expired }: Inspection,
  handler: Handler,
  given: SubmitOptions,
): Promise<{ readonly checked: CheckedInput; readonly options: SubmitOptions }> {
  const stored = expired ? null : await storedInput(api, id, queue);
  const bytes = stored && (await api.engine.values.inputOf(stored, queue));
  if (!stored || !bytes) {
    throw new ProblemError("expired", "The input of the task is gone: send one.", { extensions: { id } });
  }
  const query = Object.keys(given.query).length > 0 ? given.query : stored.query;
  const checked = await checkInput(bytes, stored.mediaType, handler);
  return { checked, options: Object.keys(query).length > 0 ? { ...given, query } : given };
}
