import type { Context } from "koa";
import type { z } from "zod";
import { parseDuration } from "../../config/duration.ts";
import type { QueueSettings } from "../../engine/settings.ts";
import { failureOf, redactedEnd } from "../../engine/tasks/attempt-end.ts";
import { answerOf, jsonAnswer, sizeError } from "../../engine/tasks/result.ts";
import { takeOrWait, type WithInput } from "../../engine/tasks/take.ts";
import { ProblemError } from "../../errors.ts";
import type { Problem } from "../../handler/intents.ts";
import type { Lease as HeldLease } from "../../store/task/lease.ts";
import { type Answer, isId } from "../../task.ts";
import { traceHeadersOf } from "../../trace/trace-context.ts";
import { timestamp } from "../../wire/document.ts";
import {
  completeBody,
  failBody,
  type Lease,
  outputBody,
  progressBody,
  type Renewal,
  renewBody,
  takeBody,
} from "../../wire/lease.ts";
import { wrongParameter } from "../../wire/request.ts";
import type { Api } from "../api.ts";
import { requestId } from "../headers/request-id.ts";
import { parameterRefs } from "../openapi/parameters.ts";
import { empty, json, jsonBody } from "../openapi/responses.ts";
import { accessOf } from "../request/access.ts";
import { readJson } from "../request/body.ts";
import { linkTo } from "../request/forwarded.ts";
import { parsePrefer } from "../request/prefer.ts";
import { handlerOf } from "../request/queue.ts";
import { pathTo, type Route, WORK } from "../route.ts";
import { untilGone } from "../server/long-poll.ts";
import { unknownTask } from "../task/reply.ts";

/** How long after its request a worker counts as alive, ms. */
const WORKER_TTL_MS = 15_000;

const VERB = { method: "POST", scopes: WORK, tag: "Workers" } as const;

/** For workers in any language: get leases, renew and end them. */
export function leaseRoutes(api: Api): readonly Route[] {
  return [
    {
      ...VERB,
      name: "takeLease",
      path: "/v1/queues/:queue/leases",
      summary: "Lease tasks",
      description: "Waits until there is work, for at most SYNC_LIMIT or the time in `Prefer: wait=N`.",
      parameters: parameterRefs("Prefer-wait"),
      body: jsonBody("lease.take", { required: false }),
      answers: {
        "200": json("The leased tasks, each with its fence.", "Leases"),
        "204": empty("No task was available in time."),
      },
      run: (ctx) => take(ctx, api, ctx.params.queue),
    },
    {
      ...VERB,
      name: "renewLease",
      path: PATHS.renew,
      summary: "Renew a lease",
      body: jsonBody("lease.renew"),
      answers: { "200": json("The lease is renewed.", "LeaseRenewal") },
      run: (ctx) => renew(ctx, api),
    },
    {
      ...VERB,
      name: "progressLease",
      path: PATHS.progress,
      summary: "Report progress",
      body: jsonBody("lease.progress"),
      answers: { "204": empty("The progress is stored.") },
      run: (ctx) => progress(ctx, api),
    },
    {
      ...VERB,
      name: "writeLease",
      path: PATHS.output,
      summary: "Write output",
      body: jsonBody("lease.output"),
      answers: { "204": empty("The values are stored after those written before.") },
      run: (ctx) => write(ctx, api),
    },
    {
      ...VERB,
      name: "completeLease",
      path: PATHS.complete,
      summary: "Complete the task with its result",
      body: jsonBody("lease.complete"),
      answers: { "200": json("What became of the task.", "LeaseCompletion") },
      run: (ctx) => complete(ctx, api),
    },
    {
      ...VERB,
      name: "failLease",
      path: PATHS.fail,
      summary: "Fail the attempt",
      body: jsonBody("lease.fail"),
      answers: { "200": json("What became of the task.", "LeaseFailure") },
      run: (ctx) => fail(ctx, api),
    },
  ];
}

/** The routes of a leased task, as the router writes them, by relation. */
const PATHS = {
  renew: "/v1/leases/:id/renew",
  progress: "/v1/leases/:id/progress",
  output: "/v1/leases/:id/output",
  complete: "/v1/leases/:id/complete",
  fail: "/v1/leases/:id/fail",
} as const;

/** The links of a leased task, by relation. */
const LINKS = Object.entries(PATHS).map(([rel, path]) => [rel, pathTo(path)] as const);

/**
 * Waits for work for as long as `Prefer: wait=N` says, at most and by default for SYNC_LIMIT; 204 if there is none.
 * @throws ProblemError rate-limited where this caller has too many streams and long polls open
 */
async function take(ctx: Context, api: Api, queue: string): Promise<void> {
  if (handlerOf(api, queue).turns?.all)
    throw wrongParameter("queue", "its tasks are turns, for those who submitted them: no worker takes them");
  const { engine } = api;
  const settings = engine.queues.settings(queue);
  const asked = await readJson(ctx.req, takeBody, api.maxBodyBytes);
  const leaseMs = asked.lease === undefined ? settings.leaseMs : Math.round(asked.lease * 1000);
  const { wait } = parsePrefer(ctx.get("Prefer"));
  const waitMs = Math.min((wait ?? Number.POSITIVE_INFINITY) * 1000, api.syncLimitMs);
  if (waitMs > 0) api.streams.add(ctx);
  const worker = asked.worker ?? accessOf(ctx).caller ?? "remote";
  const signal = untilGone(ctx, api);
  const fillMs = parseDuration(asked.fill ?? 0) ?? 0;
  // A worker that fills its requests runs the tasks of each in one call.
  const batch = settings.batch ?? (fillMs > 0 ? { max: asked.count, waitMs: fillMs } : undefined);
  const slots = new Map([[queue, Math.ceil(asked.count / (batch?.max ?? 1))]]);
  const batches = batch && new Map([[queue, batch]]);
  // Only estimates depend on it, so a partition that is unavailable must not fail the request.
  const heard = engine.workers
    .heartbeat(worker, waitMs + WORKER_TTL_MS, slots, { about: { kind: "remote" }, batches })
    .catch(() => undefined);
  const request = { queue, worker, reservation: requestId(ctx), count: asked.count, leaseMs, fillMs };
  const { tasks, handBack } = await takeOrWait(engine, request, Date.now() + waitMs, signal);
  await heard;
  if (ctx.res.destroyed) {
    // The worker has gone: its tasks return to their places at once, not when their leases end.
    await handBack();
    return;
  }
  if (tasks.length === 0) {
    ctx.status = 204;
    return;
  }
  ctx.body = { items: tasks.map((task) => leaseDocument(ctx, task, settings, leaseMs)) };
}

function leaseDocument(ctx: Context, task: WithInput, of: QueueSettings, leaseMs: number): Lease {
  const { queue, attempts: maxAttempts } = of;
  const json = task.mediaType === "application/json";
  // The submitter's trace, for the worker to continue.
  const { traceparent = null, tracestate = null } = traceHeadersOf(task.trace);
  return {
    id: task.id,
    queue,
    fence: Number(task.fence),
    attempt: task.attempt,
    maxAttempts,
    leaseSeconds: leaseMs / 1000,
    mediaType: task.mediaType,
    ...(json ? inputOf(task.input) : { body: task.input.toString("base64") }),
    query: task.query === "" ? {} : (JSON.parse(task.query) as Record<string, string>),
    caller: task.caller === "" ? null : task.caller,
    submittedAt: timestamp(task.createdMs),
    traceparent,
    tracestate,
    links: LINKS.map(([rel, path]) => ({ rel, href: linkTo(ctx, path(task.id)), method: "POST" })),
  };
}

/**
 * The input was checked at submission; if it still cannot be parsed, it is sent as bytes, so that it does not block the other
 * tasks.
 */
function inputOf(bytes: Buffer): { input: unknown } | { body: string } {
  try {
    return { input: JSON.parse(bytes.toString("utf8")) as unknown };
  } catch {
    return { body: bytes.toString("base64") };
  }
}

/** The lease of a request. @throws ProblemError unknown, and what reading the body throws */
async function leaseOf<T extends { fence: string }>(
  ctx: Context,
  api: Api,
  schema: z.ZodType<T>,
): Promise<{ lease: HeldLease; attempt: number; asked: T }> {
  const id: string = ctx.params.id ?? "";
  const asked = await readJson(ctx.req, schema, Math.ceil(api.maxResultBytes * 1.4) + 4096);
  const seen = isId(id) ? await api.engine.inspector.inspect(id, { result: false }) : null;
  if (!seen) throw unknownTask(id.slice(0, 128));
  // A turn has a fence, too, but is not for workers.
  if (seen.longestMs !== null) throw lost(id);
  return { lease: { queue: seen.queue, id, fence: asked.fence }, attempt: seen.attempts, asked };
}

/** The error for a lost lease: another worker has the task, or it has ended. */
function lost(id: string): ProblemError {
  return new ProblemError("invalid-task", "You no longer hold the lease: stop working on the task.", {
    extensions: { id, reason: "lease-lost" },
  });
}

async function renew(ctx: Context, api: Api): Promise<void> {
  const { lease, asked } = await leaseOf(ctx, api, renewBody);
  const { verdict, leaseMs } = await prolong(api, lease, asked.lease);
  if (verdict === "stale") throw lost(lease.id);
  ctx.body = {
    id: lease.id,
    cancelRequested: verdict !== "ok",
    reason: CANCEL_REASONS[verdict],
    leaseSeconds: leaseMs / 1000,
  } satisfies Renewal;
}

/** Why a worker is asked to stop, in the words of `task.signal`. */
const CANCEL_REASONS = { ok: null, cancel: "canceled", deadline: "deadline", abandoned: "abandoned" } as const;

/** Renews a lease, by default by its original length. */
async function prolong({ engine }: Api, lease: HeldLease, seconds: number | undefined) {
  if (seconds === undefined) {
    const { leaseMs } = engine.queues.settings(lease.queue);
    return await engine.call("renew", { ...lease, leaseMs, asTaken: true });
  }
  const leaseMs = Math.round(seconds * 1000);
  return { verdict: await engine.leases.renew(lease, leaseMs), leaseMs };
}

async function progress(ctx: Context, api: Api): Promise<void> {
  const { lease, asked } = await leaseOf(ctx, api, progressBody);
  if ((await api.engine.call("progress", { ...lease, progress: `${asked.percent} ${asked.message}` })) === "stale")
    throw lost(lease.id);
  ctx.status = 204;
}

/** @throws ProblemError payload-too-large above MAX_OUTPUT: then none of the values is stored */
async function write(ctx: Context, api: Api): Promise<void> {
  const { lease, asked } = await leaseOf(ctx, api, outputBody);
  const values = asked.data.map((value) => JSON.stringify(value));
  const maxBytes = api.maxOutputBytes;
  const written = await api.engine.outputs.write(lease, values, { maxBytes, all: true });
  if (written === "stale") throw lost(lease.id);
  if (written < values.length) {
    throw new ProblemError("payload-too-large", `The output of a task has at most ${maxBytes} bytes (MAX_OUTPUT).`);
  }
  ctx.status = 204;
}

async function complete(ctx: Context, api: Api): Promise<void> {
  const { lease, asked } = await leaseOf(ctx, api, completeBody);
  const { result: json, body, ...given } = asked;
  // What was parsed from JSON is JSON; undefined stays undefined.
  const result =
    body === undefined ? jsonAnswer(JSON.stringify(json), given) : answerOf(Buffer.from(body, "base64"), given);
  checkLength(api, result);
  const settings = api.engine.queues.settings(lease.queue);
  // Which tasks a worker has run together is not known here: on average one of each call is timed.
  const serviceMs = Math.random() * (settings.batch?.max ?? 1) < 1 ? undefined : "none";
  const verdict = await api.engine.leases.complete(lease, result, settings, { serviceMs });
  if (verdict === "stale" || verdict === "unknown") throw lost(lease.id);
  ctx.body = { id: lease.id, verdict };
}

/** @throws ProblemError payload-too-large above MAX_RESULT */
function checkLength({ maxResultBytes }: Api, result: Answer): void {
  const tooLarge = sizeError(result, maxResultBytes);
  if (tooLarge) throw new ProblemError("payload-too-large", tooLarge);
}

/** The end of the attempt as its worker reported it. */
function handlerEnd({ giveUp, after, timeout, error }: z.infer<typeof failBody>) {
  if (after !== undefined && !giveUp)
    return { kind: "later", afterMs: Math.round(after * 1000), message: error } as const;
  if (timeout !== undefined && !giveUp) return { kind: "timeout", timeoutMs: Math.round(timeout * 1000) } as const;
  if (!giveUp) return { kind: "error", error: { message: error } } as const;
  // JSON has no undefined members, which the schema's type does not express.
  const problem = giveUp as Problem;
  return { kind: "give-up", problem: { ...problem, status: problem.status ?? 500 }, message: error } as const;
}

async function fail(ctx: Context, api: Api): Promise<void> {
  const { lease, attempt, asked } = await leaseOf(ctx, api, failBody);
  const settings = api.engine.queues.settings(lease.queue);
  const failure = failureOf(redactedEnd(handlerEnd(asked), api.engine.redacted), { settings, attempt }, Math.random());
  checkLength(api, failure.result);
  const verdict = await api.engine.leases.fail(lease, failure, settings);
  if (verdict === "stale" || verdict === "unknown") throw lost(lease.id);
  ctx.body = { id: lease.id, verdict };
}
