import type { Context } from "koa";
import { z } from "zod";
import { estimatedPercent } from "../../engine/estimates/estimate.ts";
import type { Inspection } from "../../engine/watch/inspect.ts";
import { ProblemError } from "../../errors.ts";
import type { Api } from "../../http/api.ts";
import { setRetryAfter } from "../../http/headers/retry-after.ts";
import { accessOf, mayRead } from "../../http/request/access.ts";
import { linkTo } from "../../http/request/forwarded.ts";
import { pathTo } from "../../http/route.ts";
import { findTask } from "../../http/task/find.ts";
import { pendingTask, unknownTask } from "../../http/task/reply.ts";
import { errorOf } from "../../http/task/task-document.ts";
import { isOutcome, STATES } from "../../task.ts";
import { type Document, text, timestamp } from "../../wire/document.ts";
import { eta, id } from "../../wire/task.ts";
import type { Allocation, Allocations } from "./ids.ts";

export const allocation = z.object({ id });

/** A task as the server-allocated dialect shows it. */
export const allocatedTask = z.object({
  id,
  status: z.enum(["allocated", ...STATES]),
  progress: z.int().min(0).max(100),
  eta: eta.nullable(),
});
export type AllocatedTask = Document<typeof allocatedTask>;

export const allocatedResult = allocatedTask.extend({
  result: z.unknown().exactOptional().describe("What the handler returned; null if it is not JSON."),
  contentType: text.nullable().exactOptional().describe("Media type of a result that is not JSON."),
  href: text.exactOptional().describe("URL of a result that is not JSON."),
});

/** What the routes need. */
export interface AllocatingApi extends Api {
  readonly allocations: Allocations;
}

/** What an id of the dialect refers to: a task or an allocation. */
interface AllocatedId {
  readonly queue: string;
  readonly task?: Inspection;
  /** Its input has not been submitted yet. */
  readonly allocation?: Allocation;
}

/** The route of a task in the dialect, as the router writes it. */
export const ALLOCATED_PATH = "/api/v1/task/:id";

/** Path of a task in the dialect. */
export const allocatedPath = pathTo(ALLOCATED_PATH);

/**
 * What an id refers to. Callers with the scope read can see a task, but only the owner can use an id without one.
 * @throws ProblemError unknown; invalid-task or expired if the task is no longer usable
 */
export async function findAllocated(
  ctx: Context,
  api: AllocatingApi,
  id: string,
  options: { use: boolean },
): Promise<AllocatedId> {
  const [task, allocation] = await Promise.all([
    findTask(ctx, api, id, { result: false }).catch(nullIfUnknown),
    api.allocations.find(id),
  ]);
  if (task) {
    await refuseEnded(ctx, api, task);
    return { queue: task.queue, task };
  }
  const allowed =
    allocation && (options.use ? accessOf(ctx).caller === allocation.caller : mayRead(accessOf(ctx), allocation));
  if (!allowed) throw unknownTask(id.slice(0, 128));
  return { queue: allocation.queue, allocation };
}

function nullIfUnknown(error: unknown): null {
  if (error instanceof ProblemError && error.code === "unknown") return null;
  throw error;
}

/** @throws ProblemError invalid-task if the task failed, was canceled or deleted; expired if its result has expired */
async function refuseEnded(ctx: Context, api: AllocatingApi, task: Inspection): Promise<void> {
  const { id, state } = task;
  const invalid = (reason: string, more: object = {}) =>
    new ProblemError("invalid-task", undefined, { extensions: { id, reason, ...more } });
  if (task.deleted) throw invalid("deleted");
  if (state === "canceled") throw invalid("canceled");
  if (state === "failed") {
    // The reason of the failure is in its result.
    throw invalid("failed", { error: errorOf(await findTask(ctx, api, id, { result: true })) });
  }
  if (task.expired) throw expiredTask(task);
}

/** The error of a task whose result has expired. */
export function expiredTask({ id, queue, state, finishedMs, expiresMs }: Inspection): ProblemError {
  const times = { finishedAt: timestamp(finishedMs), expiredAt: timestamp(expiresMs) };
  return new ProblemError("expired", "The result has expired.", { extensions: { id, queue, state, ...times } });
}

/** The document of a task that is pending or has succeeded. */
export function documentOf(task: Inspection): AllocatedTask {
  return { id: task.id, status: task.state, progress: percentOf(task), eta: task.eta };
}

function percentOf(task: Inspection): number {
  if (task.state === "succeeded") return 100;
  if (task.state !== "running" || task.startedMs === null) return 0;
  const percent = task.progress?.percent ?? estimatedPercent(task.snapshot, task.startedMs, task.nowMs) ?? 0;
  return Math.max(0, Math.min(99, Math.floor(percent)));
}

/** Answers with the document of a task. For a pending task, headers say when and where to ask again. */
export function replyAllocated(ctx: Context, status: 200 | 202, task: Inspection): void {
  ctx.set("Location", linkTo(ctx, allocatedPath(task.id)));
  // A 202 says when to ask again even if a short task has already ended.
  if (status === 202 || !isOutcome(task.state)) setRetryAfter(ctx, pendingTask(task).retryAfterS);
  ctx.status = status;
  ctx.body = documentOf(task);
}
