import type { Context } from "koa";
import type { Inspection } from "../../../engine/reading/inspect.ts";
import { isAllocated } from "../../../engine/submission/allocations.ts";
import type { Submission } from "../../../engine/submission/submission.ts";
import type { SubmissionVerdict } from "../../../engine/submission/submit.ts";
import { consumesType } from "../../../handler/input.ts";
import { isOutcome } from "../../../task.ts";
import type { AllocatedTask } from "../../../wire/allocation.ts";
import { oneParameter, wrongParameter } from "../../../wire/parameter.ts";
import { readSubmitOptions } from "../../../wire/submit-options.ts";
import type { Api } from "../../api.ts";
import { logEnd } from "../../audit-log.ts";
import type { Extra } from "../../extra.ts";
import {
  checkPreconditions,
  onlyCreates,
  type Preconditions,
  preconditionFailed,
  readPreconditions,
} from "../../headers/preconditions.ts";
import { readInput } from "../../input/body.ts";
import { searchOf } from "../../input/parameters.ts";
import { forbidden } from "../../middleware/authorize.ts";
import { inputHandlerOf } from "../../named-queue.ts";
import { DEFAULT_QUEUE } from "../../routes.ts";
import { checkAccepted, conflict, tooMany } from "../../submission/refusal.ts";
import { send } from "../../submission/send.ts";
import { assembleSubmission, withWebhook } from "../../submission/submission.ts";
import { accessOf, callerOf, mayEnd, signatureOf } from "../../task/access.ts";
import { findTask, observeRequested } from "../../task/find.ts";
import { paths } from "../../task/links.ts";
import { unknownTask } from "../../task/reply.ts";
import { replyEmbedding } from "../embedded-result.ts";
import { allocatedPath, allocatedTask, expiredTask, findAllocated, replyAllocated } from "./allocated-document.ts";
import { allocationRoutes } from "./routes.ts";

/**
 * The dialect in which the server allocates the id first: a caller gets an id, posts the input under it, repeatedly if
 * necessary, and polls it.
 */
export const allocations: Extra<typeof allocationRoutes> = {
  routes: allocationRoutes,
  endpoints: (api) => ({
    allocate: (ctx) => allocate(ctx, api),
    postAllocated: (ctx) => post(ctx, api, idOf(ctx)),
    getAllocated: (ctx) => look(ctx, api, idOf(ctx)),
    putAllocated: (ctx) => put(ctx, api, idOf(ctx)),
    deleteAllocated: (ctx) => remove(ctx, api, idOf(ctx)),
  }),
  operations: async () => (await import("./operations.ts")).allocationOperations,
};

/** @throws ProblemError unknown for an id that is not allocated */
function idOf(ctx: Context): string {
  const id = String(ctx.params.id);
  if (!isAllocated(id)) throw unknownTask(id.slice(0, 128));
  return id;
}

async function allocate(ctx: Context, api: Api): Promise<void> {
  const handler = inputHandlerOf(api, oneParameter(searchOf(ctx), "queue") ?? DEFAULT_QUEUE);
  if (!consumesType(handler, "application/json")) {
    throw wrongParameter("queue", `expected one that accepts application/json, not ${handler.consumes.join(", ")}`);
  }
  ctx.set("Cache-Control", "no-store");
  // HEAD must be safe, unlike this GET: it reports success without allocating an id.
  if (ctx.method === "HEAD") {
    ctx.type = "application/json";
    ctx.status = 200;
    return;
  }
  const { maxWaiting } = api.engine.queues.settings(handler.queue);
  const { id } = await api.engine.allocations.allocate(handler.queue, callerOf(ctx), maxWaiting);
  ctx.set("Location", allocatedPath(id));
  ctx.body = { id };
}

async function post(ctx: Context, api: Api, id: string): Promise<void> {
  const { queue, allocation } = await findAllocated(ctx, api, id, { use: true });
  const submission = await readSubmission(ctx, api, id, queue);
  if ((await submit(ctx, api, submission)).verdict === "conflict")
    throw conflict(id, "The id was used with another input.");
  if (allocation) await api.engine.allocations.drop(allocation);
  replyAllocated(ctx, 202, await findTask(ctx, api, id, { result: false }));
}

/** Replaces the input of a waiting task, or submits the first input of an allocated id. */
async function put(ctx: Context, api: Api, id: string): Promise<void> {
  const { queue, task, allocation } = await findAllocated(ctx, api, id, { use: true });
  const conditions = readPreconditions(ctx);
  if (conditions) await checkAllocated(ctx, api, id, task, conditions);
  const submission = await readSubmission(ctx, api, id, queue);
  const { engine } = api;
  // Submitted first, which also checks whose task it is.
  const { verdict, snapshot } = await submit(ctx, api, submission);
  if (verdict === "conflict") {
    if (conditions && onlyCreates(conditions)) throw preconditionFailed(id, "If-None-Match: the id is taken.");
    const updated = await engine.tasks.update(submission, engine.queues.settings(queue));
    if (typeof updated === "object") throw tooMany(queue, updated, snapshot);
    if (updated !== "updated") {
      throw conflict(id, "The task has begun or ended: its input cannot be replaced.");
    }
  }
  if (allocation) await engine.allocations.drop(allocation);
  replyAllocated(ctx, allocation ? 202 : 200, await findTask(ctx, api, id, { result: false }));
}

async function readSubmission(ctx: Context, api: Api, id: string, queue: string): Promise<Submission> {
  const options = readSubmitOptions(searchOf(ctx), ctx.headers);
  if (options.dryRun) throw wrongParameter("dryRun", "not supported for allocated ids");
  const handler = inputHandlerOf(api, queue);
  const checked = await readInput(ctx.req, handler, api.maxBodyBytes);
  return assembleSubmission(ctx, api, { id, handler, options: await withWebhook(api, options, id), checked });
}

/** Stores a task, unless it is already stored; `conflict` if that has another input. @throws ProblemError */
async function submit(ctx: Context, api: Api, submission: Submission): Promise<SubmissionVerdict> {
  const verdict = await send(ctx, api, submission);
  if (verdict.verdict !== "conflict") checkAccepted(ctx, submission, verdict, { byKey: false });
  return verdict;
}

async function look(ctx: Context, api: Api, id: string): Promise<void> {
  const { task } = await findAllocated(ctx, api, id, { use: false });
  if (task && !isOutcome(task.state)) return replyAllocated(ctx, 202, task);
  ctx.set("Cache-Control", "no-store");
  if (!task) {
    ctx.body = { id, status: "allocated", progress: 0, eta: null } satisfies AllocatedTask;
    return;
  }
  const seen = await findTask(ctx, api, id, { result: true, inPieces: true });
  const { result } = seen;
  if (!result) throw expiredTask(seen);
  const href = paths.result(id, signatureOf(ctx, seen));
  await replyEmbedding(
    ctx,
    api,
    { id, result },
    {
      document: allocatedTask(seen),
      member: "result",
      otherwise: { result: null, contentType: result.contentType, href },
    },
  );
}

/**
 * Checks the preconditions of a PUT or DELETE; for an allocated id there is no task yet. @throws ProblemError
 * precondition-failed
 */
async function checkAllocated(
  ctx: Context,
  api: Api,
  id: string,
  task: Inspection | undefined,
  conditions: Preconditions,
): Promise<void> {
  checkPreconditions(id, conditions, task ? await findTask(ctx, api, id, { result: true, inPieces: true }) : null);
}

async function remove(ctx: Context, api: Api, id: string): Promise<void> {
  const { queue, task } = await findAllocated(ctx, api, id, { use: true });
  const conditions = readPreconditions(ctx);
  if (conditions) await checkAllocated(ctx, api, id, task, conditions);
  ctx.set("Cache-Control", "no-store");
  ctx.status = 204;
  if (!task) return api.engine.allocations.drop({ id, queue });
  if (!mayEnd(accessOf(ctx), task)) throw forbidden(["admin"]);
  const verdict = await api.engine.tasks.cancel(id, queue);
  logEnd(ctx, api, task, verdict);
  // Its handler is still running; what it did is undone once it has settled.
  if (verdict === "requested") replyAllocated(ctx, 202, await observeRequested(api, task));
}
