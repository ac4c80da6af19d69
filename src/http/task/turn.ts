import type { Context } from "koa";
import { jsonAnswer, sizeError } from "../../engine/tasks/result.ts";
import type { Inspection } from "../../engine/watch/inspect.ts";
import { ProblemError } from "../../errors.ts";
import { encodeResult } from "../../store/task/record.ts";
import type { Answer } from "../../task.ts";
import { readParameter } from "../../wire/request.ts";
import type { Api } from "../api.ts";
import { logAction } from "../audit-log.ts";
import { parameterRefs } from "../openapi/parameters.ts";
import { json } from "../openapi/responses.ts";
import { accessOf, forbidden, mayEndTurn } from "../request/access.ts";
import { readJsonText } from "../request/body.ts";
import { PARAMETERS, searchOf } from "../request/parameters.ts";
import { type Route, SUBMIT } from "../route.ts";
import { findTask } from "./find.ts";
import { TASK_PATHS } from "./links.ts";
import { pendingHeaders, pendingTask } from "./reply.ts";
import { documentOf, isCalled } from "./task-document.ts";

/** Answers whose turn it is with the document of the task. */
export function replyTurn(ctx: Context, api: Api, seen: Inspection): void {
  pendingHeaders(ctx, pendingTask(seen));
  ctx.body = documentOf(ctx, api, seen);
}

/** Ending a turn. */
export function turnRoutes(api: Api): readonly Route[] {
  return [
    {
      name: "done",
      method: "POST",
      path: TASK_PATHS.done,
      scopes: SUBMIT,
      signedLink: "turn",
      tag: "Submit",
      summary: "Say that your turn is over",
      description:
        "The next one in line is called at once. The body, if any, becomes the result. Idempotent with the same body.",
      parameters: parameterRefs("turn"),
      body: { required: false, content: { "application/json": { schema: {} } } },
      answers: { "200": json("The turn is over.", "Task") },
      run: (ctx) => done(ctx, api, ctx.params.id),
    },
  ];
}

/** @throws ProblemError unknown, forbidden, not-running, payload-too-large above MAX_RESULT */
async function done(ctx: Context, api: Api, id: string): Promise<void> {
  const fence = readParameter(searchOf(ctx), PARAMETERS.turn);
  const result = jsonAnswer(await readJsonText(ctx.req, api.maxBodyBytes));
  const tooLarge = sizeError(result, api.maxResultBytes);
  if (tooLarge) throw new ProblemError("payload-too-large", tooLarge);
  const before = await findTask(ctx, api, id, { result: false });
  if (!mayEndTurn(accessOf(ctx), before)) throw forbidden(["admin"]);
  if (fence !== null && fence !== before.fence) throw notRunning(before);
  if (isCalled(before)) {
    const { queue } = before;
    const settings = api.engine.queues.settings(queue);
    await api.engine.leases.complete({ id, queue, fence: before.fence ?? "" }, result, settings);
    logAction(ctx, api, "done", { queue, id });
  }
  // Whatever the answer of the store: it may have been another request that ended the turn.
  const after = await findTask(ctx, api, id, { result: true });
  if (after.longestMs === null || after.fence !== before.fence || !endedWith(after, result)) throw notRunning(after);
  ctx.body = documentOf(ctx, api, after);
}

/** Whether a task has succeeded with this very result. */
function endedWith({ state, result }: Inspection, expected: Answer): boolean {
  if (state !== "succeeded" || result === null) return false;
  return Buffer.from(encodeResult(result)).equals(Buffer.from(encodeResult(expected)));
}

function notRunning({ id, queue, state }: Inspection): ProblemError {
  return new ProblemError("not-running", undefined, { extensions: { id, queue, state } });
}
