import type { Context } from "koa";
import type { Eta } from "../../engine/estimates/estimate.ts";
import type { Inspection } from "../../engine/inspect.ts";
import { PROBLEM_TYPE } from "../../engine/problem.ts";
import { type ErrorCode, errorEntry, PaihaoError } from "../../errors.ts";
import type { State } from "../../task.ts";
import { timestamp } from "../../timestamp.ts";
import { pendingRetryAfterS } from "../headers/retry-after.ts";
import { problemDocument } from "../problems/problem.ts";
import { responseOf } from "../response.ts";
import { signatureOf } from "./access.ts";
import { problemMembers } from "./document.ts";
import { absolute, paths, pendingLinksJson } from "./links.ts";
import { replyResult } from "./reply-result.ts";

/** A task that a caller has to wait for, as much of it as its answer tells. */
export interface PendingTask {
  readonly id: string;
  readonly caller: string | null;
  readonly createdMs: number;
  readonly queue: string;
  readonly state: State;
  readonly index: number | null;
  readonly eta: Eta | null;
  readonly retryAfterS: number;
}

/** A task that was looked at, as a pending one. */
export function pendingTask(seen: Inspection): PendingTask {
  const { id, caller, createdMs, queue, state, index, eta, line } = seen;
  const runningFor = state === "running" && seen.startedMs !== null ? seen.nowMs - seen.startedMs : null;
  return { id, caller, createdMs, queue, state, index, eta, retryAfterS: pendingRetryAfterS(eta, line, runningFor) };
}

/**
 * The members of a 202's body and of the 404 `pending`, as JSON without its braces: the first four are the ancestor's whole body.
 * Written as text, since this is what a server answers most: JSON.stringify would take longer than all else about the answer.
 * Ids, queues, states and signatures hold nothing that JSON has to escape.
 */
function pendingMembers({ id, queue, state, index, eta }: PendingTask, signature: string): string {
  const self = `"rel":"self","href":"${paths.result(id, signature)}","method":"GET"`;
  const task = `"index":${index},"id":"${id}","queue":"${queue}","state":"${state}","eta":${JSON.stringify(eta)}`;
  return `${self},${task},"links":${pendingLinksJson(id, signature)}`;
}

/** The headers that tell of a pending task, for gateways that replace bodies: names and values in turns. */
function pendingFields(ctx: Context, task: PendingTask, signature: string): string[] {
  const { id, state, index, eta, retryAfterS } = task;
  const monitor = paths.monitor(id, signature);
  const fields = [
    ...["Location", paths.result(id, signature)],
    ...["Operation-Location", absolute(ctx, monitor)],
    ...[
      "Link",
      `<${monitor}>; rel="monitor", <${paths.events(id, signature)}>; rel="alternate"; type="text/event-stream"`,
    ],
    ...["Retry-After", String(retryAfterS)],
    ...["X-Task-State", state],
    ...["Cache-Control", "no-store"],
  ];
  if (index !== null) fields.push("X-Queue-Index", String(index));
  if (eta !== null) fields.push("X-Queue-ETA", String(eta.seconds));
  return fields;
}

/** Sets the headers that tell of a pending task. */
export function pendingHeaders(ctx: Context, task: PendingTask): void {
  const fields = pendingFields(ctx, task, signatureOf(ctx, task));
  for (let i = 0; i < fields.length; i += 2) ctx.set(fields[i] ?? "", fields[i + 1] ?? "");
}

/** Answers 202: the task is accepted and has to be waited for. */
export function replyAccepted(ctx: Context, task: PendingTask): void {
  const signature = signatureOf(ctx, task);
  const fields = pendingFields(ctx, task, signature);
  fields.push("Content-Type", "application/json; charset=utf-8");
  ctx.respond = false;
  responseOf(ctx).answer(202, fields, `{${pendingMembers(task, signature)}}`);
}

/** The members of the problem `pending`, as JSON without its braces. */
const PENDING_PROBLEM = JSON.stringify(problemDocument("pending")).slice(1, -1);

/** Answers 404 `pending`, or 202 to clients that take a 404 for the end of it. */
export function replyPending(ctx: Context, task: PendingTask, status: 404 | 202): void {
  if (status === 202) return replyAccepted(ctx, task);
  const signature = signatureOf(ctx, task);
  const fields = pendingFields(ctx, task, signature);
  fields.push("Content-Type", PROBLEM_TYPE);
  ctx.respond = false;
  responseOf(ctx).answer(404, fields, `{${PENDING_PROBLEM},${pendingMembers(task, signature)}}`);
}

/** Answers with a problem document of the catalogue (RFC 9457). */
export function replyProblem(
  ctx: Context,
  code: ErrorCode,
  detail?: string,
  extensions: Readonly<Record<string, unknown>> = {},
): void {
  ctx.status = errorEntry(code).status;
  ctx.set("Cache-Control", "no-store");
  ctx.type = PROBLEM_TYPE;
  ctx.body = JSON.stringify(problemDocument(code, detail, extensions));
}

/** Answers as `GET /v1/requests/{id}` does for a task that is terminal. */
export function replyOutcome(ctx: Context, seen: Inspection): void {
  const { id, queue, state } = seen;
  const task = { id, queue, state };
  const finishedAt = timestamp(seen.finishedMs);
  if (state === "canceled") return replyProblem(ctx, "canceled", undefined, { ...task, finishedAt });
  if (seen.destroyed) return replyProblem(ctx, "deleted", undefined, { ...task, finishedAt });
  const { result } = seen;
  if (seen.expired || !result) {
    return replyProblem(ctx, "expired", undefined, { ...task, finishedAt, expiredAt: timestamp(seen.expiresMs) });
  }
  ctx.set("X-Task-State", state);
  if (state === "failed") {
    const problem = problemMembers(result);
    ctx.status = result.status;
    ctx.set("Cache-Control", "no-store");
    ctx.type = PROBLEM_TYPE;
    // Which task failed is added here: one problem serves many tasks in the store.
    ctx.body = JSON.stringify({ ...problem, status: result.status, ...task });
    return;
  }
  replyResult(ctx, seen, result);
}

/** The task that was asked for, when nobody has heard of it. */
export function unknownTask(id: string): PaihaoError {
  return new PaihaoError("unknown", undefined, { extensions: { id, index: null } });
}
