import type { Context } from "koa";
import type { Submission } from "../../engine/tasks/submission.ts";
import type { SubmissionVerdict } from "../../engine/tasks/submit.ts";
import type { Inspection } from "../../engine/watch/inspect.ts";
import { consumesType } from "../../handler/define.ts";
import type { Api } from "../../http/api.ts";
import { logEnd } from "../../http/audit-log.ts";
import { ANY_INPUT } from "../../http/openapi/inputs.ts";
import { laterParameters, parameterRefs } from "../../http/openapi/parameters.ts";
import { empty, headerRefs, json, schemaRef } from "../../http/openapi/responses.ts";
import { accessOf, forbidden, mayEnd } from "../../http/request/access.ts";
import { readInput } from "../../http/request/body.ts";
import { linkTo } from "../../http/request/forwarded.ts";
import { searchOf } from "../../http/request/parameters.ts";
import { inputHandlerOf } from "../../http/request/queue.ts";
import { DEFAULT_QUEUE, type Route, SUBMIT, WATCH } from "../../http/route.ts";
import { conflict, tooMany } from "../../http/submit/refusal.ts";
import { assembleSubmission, withWebhook } from "../../http/submit/submission.ts";
import { checkAccepted, send } from "../../http/submit/submit.ts";
import { findTask } from "../../http/task/find.ts";
import { linksFor } from "../../http/task/links.ts";
import {
  checkPreconditions,
  onlyCreates,
  type Preconditions,
  preconditionFailed,
  readPreconditions,
} from "../../http/task/preconditions.ts";
import { unknownTask } from "../../http/task/reply.ts";
import { replyEmbedding } from "../../http/task/reply-result.ts";
import { isOutcome } from "../../task.ts";
import { oneParameter, wrongParameter } from "../../wire/request.ts";
import { readSubmitOptions } from "../../wire/submission.ts";
import {
  ALLOCATED_PATH,
  type AllocatedTask,
  type AllocatingApi,
  allocatedPath,
  documentOf,
  expiredTask,
  findAllocated,
  replyAllocated,
} from "./allocated-document.ts";
import { Allocations, isAllocated } from "./ids.ts";

/**
 * The dialect in which the server allocates the id first: a caller gets an id, posts the input under it, repeatedly if
 * necessary, and polls it.
 */
export function allocationRoutes(server: Api): readonly Route[] {
  const api = { ...server, allocations: new Allocations(server.engine) };
  return [
    {
      name: "allocate",
      method: "GET",
      path: "/api/v1/task",
      scopes: SUBMIT,
      effects: true,
      tag: "Allocated ids",
      summary: "Allocate an id for a task",
      description: "The id is kept for an hour, and counts towards MAX_WAITING.",
      parameters: parameterRefs("queueQuery"),
      answers: { "200": json("The id.", "Allocation", "Location") },
      run: (ctx) => allocate(ctx, api),
    },
    {
      name: "postAllocated",
      method: "POST",
      path: ALLOCATED_PATH,
      scopes: SUBMIT,
      submits: "under the path's id",
      tag: "Allocated ids",
      summary: "Submit the input of the task",
      description: "Repeating it with the same input has no further effect.",
      parameters: laterParameters(api),
      body: ANY_INPUT,
      answers: { "202": pending("The task is stored.") },
      run: (ctx) => post(ctx, api, idOf(ctx)),
    },
    {
      name: "getAllocated",
      method: "GET",
      path: ALLOCATED_PATH,
      scopes: WATCH,
      tag: "Allocated ids",
      summary: "Get the task, or its result",
      answers: {
        "200": {
          description: "The id is allocated and has no input yet, or the task has succeeded.",
          headers: headerRefs("Location"),
          content: {
            "application/json": { schema: { anyOf: [schemaRef("AllocatedTask"), schemaRef("AllocatedResult")] } },
          },
        },
        "202": pending("The task is pending."),
      },
      run: (ctx) => look(ctx, api, idOf(ctx)),
    },
    {
      name: "putAllocated",
      method: "PUT",
      path: ALLOCATED_PATH,
      scopes: SUBMIT,
      submits: "under the path's id",
      tag: "Allocated ids",
      summary: "Replace the input while the task is waiting",
      parameters: laterParameters(api),
      body: ANY_INPUT,
      answers: { "200": pending("The input is replaced."), "202": pending("The task is stored.") },
      run: (ctx) => put(ctx, api, idOf(ctx)),
    },
    {
      name: "deleteAllocated",
      method: "DELETE",
      path: ALLOCATED_PATH,
      scopes: SUBMIT,
      tag: "Allocated ids",
      summary: "Cancel the task, or delete its result",
      answers: {
        "202": pending("The handler is still running; it was asked to stop."),
        "204": empty("The task is canceled, or its result is deleted."),
      },
      run: (ctx) => remove(ctx, api, idOf(ctx)),
    },
  ];
}

const pending = (description: string) => json(description, "AllocatedTask", "Location", "Retry-After");

/** @throws ProblemError unknown for an id that is not allocated */
function idOf(ctx: Context): string {
  const id = String(ctx.params.id);
  if (!isAllocated(id)) throw unknownTask(id.slice(0, 128));
  return id;
}

async function allocate(ctx: Context, api: AllocatingApi): Promise<void> {
  const handler = inputHandlerOf(api, oneParameter(searchOf(ctx), "queue") ?? DEFAULT_QUEUE);
  if (!consumesType(handler, "application/json")) {
    throw wrongParameter("queue", `expected one that accepts application/json, not ${handler.consumes.join(", ")}`);
  }
  // HEAD must be safe, unlike this GET: it reports success without allocating an id.
  if (ctx.method === "HEAD") {
    ctx.type = "application/json";
    ctx.status = 200;
    return;
  }
  const { maxWaiting } = api.engine.queues.settings(handler.queue);
  const { id } = await api.allocations.allocate(handler.queue, accessOf(ctx).caller, maxWaiting);
  ctx.set("Location", linkTo(ctx, allocatedPath(id)));
  ctx.body = { id };
}

async function post(ctx: Context, api: AllocatingApi, id: string): Promise<void> {
  const { queue, allocation } = await findAllocated(ctx, api, id, { use: true });
  const submission = await readSubmission(ctx, api, id, queue);
  if ((await submit(ctx, api, submission)).verdict === "conflict")
    throw conflict(id, "The id was used with another input.");
  if (allocation) await api.allocations.drop(allocation);
  replyAllocated(ctx, 202, await findTask(ctx, api, id, { result: false }));
}

/** Replaces the input of a waiting task, or submits the first input of an allocated id. */
async function put(ctx: Context, api: AllocatingApi, id: string): Promise<void> {
  const { queue, task, allocation } = await findAllocated(ctx, api, id, { use: true });
  const conditions = readPreconditions(ctx);
  if (conditions) await checkAllocated(ctx, api, id, task, conditions);
  const submission = await readSubmission(ctx, api, id, queue);
  const { engine } = api;
  // Submitted first, which also checks whose task it is.
  const { verdict, snapshot } = await submit(ctx, api, submission);
  if (verdict === "conflict") {
    if (conditions && onlyCreates(conditions)) throw preconditionFailed(id, "If-None-Match: the id is taken.");
    const updated = await engine.submitter.update(submission, engine.queues.settings(queue));
    if (typeof updated === "object") throw tooMany(queue, updated, snapshot);
    if (updated !== "updated") {
      throw conflict(id, "The task has begun or ended: its input cannot be replaced.");
    }
  }
  if (allocation) await api.allocations.drop(allocation);
  replyAllocated(ctx, allocation ? 202 : 200, await findTask(ctx, api, id, { result: false }));
}

async function readSubmission(ctx: Context, api: AllocatingApi, id: string, queue: string): Promise<Submission> {
  const options = readSubmitOptions(ctx.querystring, ctx.headers);
  if (options.dryRun) throw wrongParameter("dryRun", "not supported for allocated ids");
  const handler = inputHandlerOf(api, queue);
  const checked = await readInput(ctx.req, handler, api.maxBodyBytes);
  return assembleSubmission(ctx, api, { id, handler, options: await withWebhook(api, options, id), checked });
}

/** Stores a task, unless it is already stored; `conflict` if that has another input. @throws ProblemError */
async function submit(ctx: Context, api: AllocatingApi, submission: Submission): Promise<SubmissionVerdict> {
  const verdict = await send(ctx, api, submission);
  if (verdict.verdict !== "conflict") checkAccepted(ctx, submission, verdict);
  return verdict;
}

async function look(ctx: Context, api: AllocatingApi, id: string): Promise<void> {
  const { task } = await findAllocated(ctx, api, id, { use: false });
  if (task && !isOutcome(task.state)) return replyAllocated(ctx, 202, task);
  if (!task) {
    ctx.body = { id, status: "allocated", progress: 0, eta: null } satisfies AllocatedTask;
    return;
  }
  const seen = await findTask(ctx, api, id, { result: true, inPieces: true });
  const { result } = seen;
  if (!result) throw expiredTask(seen);
  const href = linksFor(ctx, seen).result;
  await replyEmbedding(
    ctx,
    api,
    { id, result },
    {
      document: documentOf(seen),
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
  api: AllocatingApi,
  id: string,
  task: Inspection | undefined,
  conditions: Preconditions,
): Promise<void> {
  checkPreconditions(id, conditions, task ? await findTask(ctx, api, id, { result: true, inPieces: true }) : null);
}

async function remove(ctx: Context, api: AllocatingApi, id: string): Promise<void> {
  const { queue, task } = await findAllocated(ctx, api, id, { use: true });
  const conditions = readPreconditions(ctx);
  if (conditions) await checkAllocated(ctx, api, id, task, conditions);
  ctx.status = 204;
  if (!task) return api.allocations.drop({ id, queue });
  if (!mayEnd(accessOf(ctx), task)) throw forbidden(["admin"]);
  const { verdict, seen } = await api.engine.inspector.cancel({ id, queue });
  logEnd(ctx, api, task, verdict);
  // Its handler is still running; what it did is undone once it has settled.
  if (seen && verdict === "requested") replyAllocated(ctx, 202, seen);
}
