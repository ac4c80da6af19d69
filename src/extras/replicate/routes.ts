import type { Context } from "koa";
import { z } from "zod";
import type { Submission } from "../../engine/tasks/submission.ts";
import { Wait } from "../../engine/watch/wait.ts";
import { ProblemError } from "../../errors.ts";
import { consumesType } from "../../handler/define.ts";
import type { Api } from "../../http/api.ts";
import { logEnd } from "../../http/audit-log.ts";
import { checkIdempotencyKey, isKeyed, requestId } from "../../http/headers/request-id.ts";
import { accessOf, forbidden, mayEnd } from "../../http/request/access.ts";
import { checkJson, readJson } from "../../http/request/body.ts";
import { linkTo } from "../../http/request/forwarded.ts";
import { parsePrefer } from "../../http/request/prefer.ts";
import { inputHandlerOf } from "../../http/request/queue.ts";
import { type Route, SUBMIT, WATCH } from "../../http/route.ts";
import { countRepeated, whenGone } from "../../http/server/long-poll.ts";
import { assembleSubmission, withWebhook } from "../../http/submit/submission.ts";
import { checkAccepted, send } from "../../http/submit/submit.ts";
import { findTask } from "../../http/task/find.ts";
import { absolute, linksFor } from "../../http/task/links.ts";
import { replyEmbedding } from "../../http/task/reply-result.ts";
import { wrongParameter } from "../../wire/request.ts";
import { readSubmitOptions } from "../../wire/submission.ts";
import { outputOf, PREDICTION_PATH, type PredictionView, predictionId, predictionOf } from "./prediction.ts";

/** A submission. Other members that clients send are ignored. */
const body = z.looseObject({
  version: z.string().min(1).max(256).optional(),
  input: z.unknown().optional(),
  webhook: z.string().optional(),
  webhook_events_filter: z.array(z.string()).optional(),
});

/**
 * The predictions of Replicate's HTTP API, for its client libraries: a thin dialect over the same tasks. The queue is the name of
 * the model, or the version.
 */
export function predictionRoutes(api: Api): readonly Route[] {
  return [
    {
      ...SUBMITTING,
      name: "predict",
      path: "/replicate/v1/predictions",
      run: (ctx) => predict(ctx, api),
    },
    {
      ...SUBMITTING,
      name: "predictWithModel",
      path: "/replicate/v1/models/:owner/:name/predictions",
      run: (ctx) => predict(ctx, api, String(ctx.params.name)),
    },
    {
      name: "getPrediction",
      method: "GET",
      path: PREDICTION_PATH,
      scopes: WATCH,
      run: (ctx) => reply(ctx, api, String(ctx.params.id), 200),
    },
    {
      name: "cancelPrediction",
      method: "POST",
      path: `${PREDICTION_PATH}/cancel`,
      scopes: SUBMIT,
      run: (ctx) => cancel(ctx, api, String(ctx.params.id)),
    },
  ];
}

const SUBMITTING = { method: "POST", scopes: SUBMIT, submits: "under the caller's key" } as const;

async function predict(ctx: Context, api: Api, model?: string): Promise<void> {
  checkIdempotencyKey(ctx.headers);
  const { input = {}, ...given } = await readJson(ctx.req, body, api.maxBodyBytes);
  const queue = model ?? queueOf(given.version);
  const submission = await readPrediction(ctx, api, queue, input, given);
  const prefer = parsePrefer(String(ctx.headers.prefer ?? ""));
  const waitMs = Math.min((prefer.wait ?? 0) * 1000, api.syncLimitMs);
  const wait = waitMs > 0 ? new Wait(submission, api.engine) : undefined;
  try {
    const deadlineMs = Date.now() + waitMs;
    const verdict = await send(ctx, api, submission, wait !== undefined);
    checkAccepted(ctx, submission, verdict);
    if (wait) {
      countRepeated(ctx, api, verdict);
      whenGone(ctx, api, () => wait.leave());
      await wait.outcome(deadlineMs, verdict.verdict === "new");
    }
  } finally {
    wait?.stop();
  }
  // A client that waited would take `processing` for the end.
  await reply(ctx, api, submission.id, 201, { input, pendingAs: "starting" });
}

async function readPrediction(
  ctx: Context,
  api: Api,
  queue: string,
  value: unknown,
  given: z.infer<typeof body>,
): Promise<Submission> {
  const handler = inputHandlerOf(api, queue);
  if (!consumesType(handler, "application/json")) {
    throw new ProblemError("unsupported-media-type", `The queue accepts ${handler.consumes.join(", ")}.`, {
      extensions: { accepts: handler.consumes },
    });
  }
  const checked = await checkJson(JSON.stringify(value), value, handler);
  const id = idOf(ctx, api, queue);
  // There is only an event for the end: a caller who asks for others only gets none.
  const told = given.webhook_events_filter?.includes("completed") ?? true;
  const webhook = told ? given.webhook : undefined;
  const search = new URLSearchParams(webhook === undefined ? {} : { webhook });
  const options = await withWebhook(api, readSubmitOptions(search.toString(), ctx.headers), id);
  return assembleSubmission(ctx, api, { id, handler, options, checked });
}

/** The id of a new prediction: it leads to the partition of the queue, which only the body names, unless the caller has chosen it. */
function idOf(ctx: Context, { engine: { keys } }: Api, queue: string): string {
  const id = requestId(ctx);
  if (isKeyed(ctx.headers)) return keys.idIn(keys.partitionOfQueue(queue), (n) => predictionId(id, `${queue} ${n}`));
  if (ctx.get("X-Request-Id") === id) return predictionId(id);
  return keys.idIn(keys.partitionOfQueue(queue), (n) => predictionId(n === 0 ? id : `${id}-${n}`));
}

/** The queue that a version names: `thumbnails`, `owner/thumbnails` and `owner/thumbnails:1` name the same. */
function queueOf(version: string | undefined): string {
  const [, queue] = /^(?:.*\/)?([^/:]+)(?::[^/]*)?$/.exec(version ?? "") ?? [];
  if (queue === undefined) throw wrongParameter("version", "expected the name of a queue");
  return queue;
}

/** Cancels a prediction that has not ended; one that has ended keeps its result. */
async function cancel(ctx: Context, api: Api, id: string): Promise<void> {
  const seen = await findTask(ctx, api, id, { result: false });
  if (!mayEnd(accessOf(ctx), seen)) throw forbidden(["admin"]);
  logEnd(ctx, api, seen, await api.engine.call("cancel", { id, queue: seen.queue, only: "pending" }));
  await reply(ctx, api, id, 200);
}

async function reply(ctx: Context, api: Api, id: string, status: 200 | 201, view: PredictionView = {}): Promise<void> {
  const seen = await findTask(ctx, api, id, { result: true, inPieces: true });
  ctx.status = status;
  const { document, href } = predictionOf(seen, {
    ...view,
    link: (path) => absolute(ctx, linkTo(ctx, path)),
    result: absolute(ctx, linksFor(ctx, seen).result),
  });
  const result = outputOf(seen);
  if (result) {
    return await replyEmbedding(ctx, api, { id, result }, { document, member: "output", otherwise: { output: href } });
  }
  ctx.body = { ...document, output: null };
}
