import type { Context } from "koa";
import { timestamp } from "../clock.ts";
import type { Eta } from "../engine/estimate.ts";
import type { Inspection } from "../engine/inspect.ts";
import { PROBLEM_TYPE } from "../engine/problem.ts";
import { type ErrorCode, errorEntry, PaihaoError } from "../errors.ts";
import type { Line } from "../store/scripts.ts";
import type { State } from "../task.ts";
import { signatureOf } from "./access.ts";
import { problemMembers } from "./document.ts";
import { absolute, type Link, paths, pendingLinks } from "./links.ts";

/** A task that a caller has to wait for, as much of it as its answer tells. */
export interface PendingTask {
  readonly id: string;
  readonly queue: string;
  readonly state: State;
  readonly index: number | null;
  readonly eta: Eta | null;
  readonly retryAfterS: number;
}

/** The body of a 202, and the members of the 404 `pending`. The first four are the ancestor's whole body. */
interface PendingBody {
  readonly rel: "self";
  readonly href: string;
  readonly method: "GET";
  readonly index: number | null;
  readonly id: string;
  readonly queue: string;
  readonly state: State;
  readonly eta: Eta | null;
  readonly links: readonly Link[];
}

/** Bounds of Retry-After, seconds. */
const RETRY_AFTER = { least: 1, most: 300, unknown: 2 } as const;

/**
 * When to ask again, in whole seconds ≥ 1: at the estimated start, while it runs at the estimated end. Long ones are spread by
 * up to a tenth, so that those who were told the same do not come at once.
 */
export function retryAfter(eta: Eta | null, line: Line, runningForMs: number | null, chance = Math.random()): number {
  let seconds: number = RETRY_AFTER.unknown;
  if (runningForMs !== null && line.meanMs !== null) seconds = (line.meanMs - runningForMs) / 1000;
  else if (eta && eta.basis !== "running") seconds = eta.seconds;
  const spread = seconds > 5 ? seconds * 0.1 * chance : 0;
  return Math.max(RETRY_AFTER.least, Math.min(RETRY_AFTER.most, Math.round(seconds + spread)));
}

/** A task that was looked at, as a pending one. */
export function pendingTask(seen: Inspection): PendingTask {
  const { id, queue, state, index, eta, line } = seen;
  const runningFor = state === "running" && seen.startedMs !== null ? seen.nowMs - seen.startedMs : null;
  return { id, queue, state, index, eta, retryAfterS: retryAfter(eta, line, runningFor) };
}

function pendingBody(task: PendingTask, signature: string): PendingBody {
  return {
    rel: "self",
    href: paths.result(task.id, signature),
    method: "GET",
    index: task.index,
    id: task.id,
    queue: task.queue,
    state: task.state,
    eta: task.eta,
    links: pendingLinks(task.id, signature),
  };
}

/** The headers that tell of a pending task, for gateways that replace bodies. */
export function pendingHeaders(ctx: Context, task: PendingTask, signature = signatureOf(ctx, task.id)): void {
  const monitor = paths.monitor(task.id, signature);
  ctx.set("Location", paths.result(task.id, signature));
  ctx.set("Operation-Location", absolute(ctx, monitor));
  const events = `<${paths.events(task.id, signature)}>; rel="alternate"; type="text/event-stream"`;
  ctx.set("Link", `<${monitor}>; rel="monitor", ${events}`);
  ctx.set("Retry-After", String(task.retryAfterS));
  ctx.set("X-Task-State", task.state);
  if (task.index !== null) ctx.set("X-Queue-Index", String(task.index));
  if (task.eta !== null) ctx.set("X-Queue-ETA", String(task.eta.seconds));
  ctx.set("Cache-Control", "no-store");
}

/** Answers 202: the task is accepted and has to be waited for. */
export function replyAccepted(ctx: Context, task: PendingTask): void {
  const signature = signatureOf(ctx, task.id);
  pendingHeaders(ctx, task, signature);
  ctx.status = 202;
  ctx.type = "application/json";
  ctx.body = JSON.stringify(pendingBody(task, signature));
}

/** Answers 404 `pending`, or 202 to clients that take a 404 for the end of it. */
export function replyPending(ctx: Context, task: PendingTask, status: 404 | 202): void {
  if (status === 202) {
    replyAccepted(ctx, task);
    return;
  }
  const signature = signatureOf(ctx, task.id);
  pendingHeaders(ctx, task, signature);
  replyProblem(ctx, "pending", undefined, { ...pendingBody(task, signature) });
}

/** Answers with a problem document of the catalogue (RFC 9457). */
export function replyProblem(
  ctx: Context,
  code: ErrorCode,
  detail?: string,
  extensions: Readonly<Record<string, unknown>> = {},
): void {
  const { status, title } = errorEntry(code);
  ctx.status = status;
  ctx.set("Cache-Control", "no-store");
  ctx.type = PROBLEM_TYPE;
  ctx.body = JSON.stringify({
    type: `/problems/${code}`,
    title,
    status,
    ...(detail === undefined ? {} : { detail }),
    ...extensions,
  });
}

/** What only the server says of a task or of a request, whatever a handler, or the API behind a gateway, has put into its result. */
const OWN_HEADERS =
  /^(?:operation-location|preference-applied|idempotent-replayed|x-task-state|x-queue-(?:index|eta)|access-control-.+|ratelimit(?:-.+)?)$/i;

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
  for (const [name, value] of Object.entries(result.headers)) {
    if (!OWN_HEADERS.test(name)) ctx.set(name, value);
  }
  ctx.status = result.status;
  const leftMs = Math.max(0, (seen.expiresMs ?? seen.nowMs) - seen.nowMs);
  ctx.set("Expires", new Date(seen.nowMs + leftMs).toUTCString());
  ctx.set("Cache-Control", `private, max-age=${Math.floor(leftMs / 1000)}`);
  ctx.set("ETag", `"${(seen.finishedMs ?? 0).toString(36)}-${seen.attempts}-${result.body.length.toString(36)}"`);
  if (result.status === 204 || result.status === 205 || result.status === 304) {
    ctx.body = null;
    ctx.status = result.status;
    return;
  }
  if (result.contentType !== null) ctx.set("Content-Type", result.contentType);
  // A result may be anything a handler made of what others sent: a browser is not to guess.
  ctx.set("X-Content-Type-Options", "nosniff");
  // Nor is a page in a result to run as one of ours, with what the dashboard beside it may do.
  if (isActive(result.contentType) && !ctx.response.get("Content-Security-Policy")) {
    ctx.set("Content-Security-Policy", "sandbox");
  }
  ctx.body = Buffer.from(result.body.buffer, result.body.byteOffset, result.body.byteLength);
  if (result.contentType === null) ctx.remove("Content-Type");
  if ((ctx.method === "GET" || ctx.method === "HEAD") && ctx.fresh) {
    ctx.status = 304;
    ctx.body = null;
  }
}

/** Whether a browser runs scripts that it finds in this. */
function isActive(contentType: string | null): boolean {
  return contentType !== null && /^\s*[^;]*\b(?:html|xml)\b/i.test(contentType);
}

/** The task that was asked for, when nobody has heard of it. */
export function unknownTask(id: string): PaihaoError {
  return new PaihaoError("unknown", undefined, { extensions: { id, index: null } });
}
