import { randomUUID } from "node:crypto";
import type { Context } from "koa";
import type { Submission } from "../../engine/tasks/submission.ts";
import type { SubmissionVerdict } from "../../engine/tasks/submit.ts";
import type { Inspection } from "../../engine/watch/inspect.ts";
import type { Watchers } from "../../engine/watch/watchers.ts";
import { ProblemError } from "../../errors.ts";
import type { Handler } from "../../handler/define.ts";
import type { Api } from "../../http/api.ts";
import { logEnd } from "../../http/audit-log.ts";
import { bareKey, derivedId, keyedId } from "../../http/headers/request-id.ts";
import { accessOf, forbidden, hasScope, keepsPresent, mayEnd } from "../../http/request/access.ts";
import { checkJson } from "../../http/request/body.ts";
import { SUBMIT } from "../../http/route.ts";
import { whenGone } from "../../http/server/long-poll.ts";
import { refusalOf } from "../../http/submit/refusal.ts";
import { assembleSubmission } from "../../http/submit/submission.ts";
import { cancelUnlessAwaited, send } from "../../http/submit/submit.ts";
import { findTask } from "../../http/task/find.ts";
import { linksFor } from "../../http/task/links.ts";
import { isOutcome } from "../../task.ts";
import { readSubmitOptions } from "../../wire/submission.ts";
import { about } from "../../words/numbers.ts";
import { checkMirrored, isObject, type Message, RpcError, TASKS } from "./message.ts";
import { failure, pendingResult, percentOf, resultOf, statusOf, taskOf, wordsOf } from "./tasks.ts";
import { CHECK_TASK, toolOf } from "./tools.ts";

/** How long a call is held: most clients wait for a minute. */
const HELD_MS = 50_000;
/** What ends sooner is answered at once, also to a client that polls tasks. */
const SOON_MS = 150;

/** A message to answer. */
export interface Call extends Message {
  readonly ctx: Context;
  readonly api: Api;
  readonly watchers: Watchers;
}

/** The answer to a request that takes long: notifications, then an object with its `result`. */
export type HeldAnswer = AsyncGenerator<
  { readonly result: object } | { readonly method: string; readonly params: object }
>;

/** Answers `tools/call`. @throws RpcError, ProblemError */
export async function callTool(call: Call): Promise<object | HeldAnswer> {
  const { ctx, api, params, isModern, hasTasks } = call;
  const { name, arguments: given = {} } = params;
  if (typeof name !== "string" || !isObject(given)) {
    throw new RpcError("invalidParams", "Expected the name of a tool, and arguments that are an object.");
  }
  if (name === CHECK_TASK) return await checkTask(call, given.task_id);
  const access = accessOf(ctx);
  if (!hasScope(access, SUBMIT)) throw forbidden(SUBMIT);
  const tool = toolOf(api, access, name);
  if (!tool) throw new RpcError("invalidParams", `Unknown tool: ${name.slice(0, 64)}`, 200);
  if (isModern) checkMirrored(ctx, tool.inputSchema, given);
  // Counted before anything is stored, since too many streams refuse the call.
  if (!hasTasks) api.streams.add(ctx);
  const stored = await submit(call, tool.handler, tool.isWrapped ? (given.input ?? null) : given);
  if (stored instanceof ProblemError) return failure(refusalText(stored));
  const { submission, verdict } = stored;
  if (!hasTasks) return held(call, submission, isModern && verdict.verdict === "new");
  if (!isModern) return { task: taskOf(await taskFor(call, submission.id), false) };
  for await (const seen of changesOf(call, submission, SOON_MS)) if (isOutcome(seen.state)) break;
  const seen = await taskFor(call, submission.id);
  if (statusOf(seen, true) === "completed") return resultOf(ctx, seen, true);
  return { resultType: "task", ...taskOf(seen, true) };
}

/** Stores a call; or tells why that was refused. @throws ProblemError that other arguments, or a later call, would not avoid */
async function submit(
  call: Call,
  handler: Handler,
  input: unknown,
): Promise<{ readonly submission: Submission; readonly verdict: SubmissionVerdict } | ProblemError> {
  const { ctx, api } = call;
  const options = readSubmitOptions("", ctx.headers);
  try {
    const checked = await checkJson(JSON.stringify(input), input, handler);
    const submitAs = async (id: string) => {
      const submission = assembleSubmission(ctx, api, { id, handler, options, checked });
      return { submission, verdict: await send(ctx, api, submission) };
    };
    const { id, byKey } = taskId(call, handler.queue);
    let stored = await submitAs(id);
    // A client that gives two requests of a session one id has given no key.
    const isTaken = ["conflict", "elsewhere"].includes(stored.verdict.verdict);
    if (isTaken && !byKey) stored = await submitAs(freshId(api, handler.queue));
    const { submission, verdict } = stored;
    const refusal = refusalOf(submission, verdict, { byKey, linksTo: (task) => linksFor(ctx, task) });
    if (refusal?.code === "not-durable") throw refusal;
    return refusal ?? stored;
  } catch (error) {
    if (error instanceof ProblemError && error.code === "invalid-input") return error;
    throw error;
  }
}

const refusalText = ({ message, retryAfterS }: ProblemError): string =>
  retryAfterS === undefined ? message : `${message} (again in ${about(retryAfterS)})`;

const freshId = ({ engine: { keys } }: Api, queue: string): string =>
  keys.idIn(keys.partitionOfQueue(queue), () => randomUUID());

/** The id of the task of a call: one for each idempotency key, else for each request of a session. @throws RpcError for a wrong key */
function taskId(call: Call, queue: string): { readonly id: string; readonly byKey: boolean } {
  const { ctx, api, meta, id: request } = call;
  const { keys } = api.engine;
  const given = ctx.headers["idempotency-key"] ?? meta.idempotencyKey;
  if (given === undefined) {
    return { id: requestTaskId(call, request, keys.partitionOfQueue(queue)) ?? freshId(api, queue), byKey: false };
  }
  const key = typeof given === "string" ? bareKey(given) : undefined;
  if (key === undefined)
    throw new RpcError("invalidParams", "Expected an idempotency key of 1–255 visible ASCII characters.");
  return { id: keyedId(key, { caller: accessOf(ctx).caller, queue, secret: api.idSecret, keys }), byKey: true };
}

/**
 * The id of the task of a request in a session of an older revision: a repetition finds it, and so does who cancels the request. Nothing is
 * kept of a session: its id is a part of what this one is derived from.
 */
function requestTaskId({ ctx, api, isModern }: Call, request: unknown, partition: number): string | undefined {
  const session = isModern ? "" : ctx.get("Mcp-Session-Id");
  if (session === "" || request === undefined) return undefined;
  const text = JSON.stringify(["mcp", accessOf(ctx).caller, session, request]);
  return api.engine.keys.idIn(partition, (n) => derivedId(text, api.idSecret.value, n));
}

/** A client of an older revision has given up on a request. */
export async function cancelRequest(call: Call): Promise<void> {
  for (let partition = 0; partition < call.api.engine.keys.partitions; partition += 1) {
    const id = requestTaskId(call, call.params.requestId, partition);
    const seen = id === undefined ? null : await knownTask(call, id);
    if (seen && mayEnd(accessOf(call.ctx), seen)) await cancelPending(call, seen);
  }
}

/** A task of the sender; null if it is unknown, or another caller's. */
async function knownTask({ ctx, api }: Call, id: string): Promise<Inspection | null> {
  try {
    return await findTask(ctx, api, id, { result: true, inPieces: true });
  } catch (error) {
    if (error instanceof ProblemError && error.code === "unknown") return null;
    throw error;
  }
}

/** The task that a request is about. @throws RpcError if there is none, or it is no longer kept */
async function taskFor(call: Call, id: unknown): Promise<Inspection> {
  const seen = typeof id === "string" ? await knownTask(call, id) : null;
  if (!seen) throw new RpcError("invalidParams", "Task not found", 200);
  if (seen.expired || seen.deleted) throw new RpcError("invalidParams", "Task has expired", 200);
  return seen;
}

/** The same for a client that polls tasks. @throws RpcError if the client has not said so */
async function polledTask(call: Call): Promise<Inspection> {
  if (call.isModern && !call.hasTasks) {
    const data = { requiredCapabilities: { extensions: { [TASKS]: {} } } };
    throw new RpcError("missingCapability", "This needs the tasks extension.", 400, data);
  }
  return await taskFor(call, call.params.taskId);
}

/** Answers `tasks/get`. */
export async function getTask(call: Call): Promise<object> {
  const { ctx, isModern } = call;
  const seen = await polledTask(call);
  const task = taskOf(seen, isModern);
  if (!isModern || statusOf(seen, true) !== "completed") return task;
  return { ...task, result: { resultType: "complete", ...resultOf(ctx, seen, true) } };
}

/** Answers `tasks/update`: no task asks its client for anything. */
export async function updateTask(call: Call): Promise<object> {
  await polledTask(call);
  return {};
}

/** Answers `tasks/cancel`. What has ended keeps its result. */
export async function cancelTask(call: Call): Promise<object> {
  const { ctx, isModern } = call;
  const seen = await polledTask(call);
  if (!isModern && statusOf(seen, false) !== "working") throw new RpcError("invalidParams", "The task has ended.", 200);
  if (!mayEnd(accessOf(ctx), seen)) throw forbidden(["admin"]);
  await cancelPending(call, seen);
  return isModern ? {} : taskOf(await taskFor(call, seen.id), false);
}

async function cancelPending({ ctx, api }: Call, seen: Inspection): Promise<void> {
  const { id, queue } = seen;
  logEnd(ctx, api, seen, await api.engine.call("cancel", { id, queue, only: "pending" }));
}

/** Answers `tasks/result` of the older revisions, once the task has ended. */
export async function awaitResult(call: Call): Promise<HeldAnswer> {
  const seen = await polledTask(call);
  call.api.streams.add(call.ctx);
  return held(call, seen);
}

async function checkTask(call: Call, id: unknown): Promise<object | HeldAnswer> {
  const seen = typeof id === "string" ? await knownTask(call, id) : null;
  if (!seen) return failure("There is no such task: task_id is what a call has answered with.");
  if (isOutcome(seen.state)) return resultOf(call.ctx, seen, call.isModern);
  call.api.streams.add(call.ctx);
  return held(call, seen);
}

type AnyTask = Pick<Inspection, "id" | "queue" | "caller">;

/** A task as it is at once and with every change, until it has ended, the time is up, nobody waits or the server stops. */
async function* changesOf({ ctx, api, watchers }: Call, task: AnyTask, ms: number | null): AsyncGenerator<Inspection> {
  const watch = await watchers.watch(task, { keeps: keepsPresent(accessOf(ctx), { ...task, createdMs: 0 }) });
  const timer = ms === null ? undefined : setTimeout(watch.stop, ms);
  whenGone(ctx, api, watch.stop);
  api.stopping.addEventListener("abort", watch.stop);
  if (api.stopping.aborted) watch.stop();
  try {
    do {
      if (watch.seen === null) return;
      yield watch.seen;
    } while (!isOutcome(watch.seen.state) && (await watch.next()));
  } finally {
    clearTimeout(timer);
    api.stopping.removeEventListener("abort", watch.stop);
    watch.stop();
  }
}

/**
 * Holds a request until its task has ended, and tells its place meanwhile.
 * @param isOurs the task is there for this request alone: it is canceled if its client hangs up
 */
async function* held(call: Call, task: AnyTask, isOurs = false): HeldAnswer {
  const { ctx, api, isModern, method, meta } = call;
  const { progressToken } = meta;
  const isResult = method === "tasks/result";
  let progress = 0;
  let isAnswered = false;
  try {
    for await (const seen of changesOf(call, task, isResult ? null : HELD_MS)) {
      if (progressToken === undefined || isOutcome(seen.state)) continue;
      // It must rise with each notification, although a task may begin anew.
      progress = Math.max(percentOf(seen) ?? 0, progress + 0.01);
      const params = { progressToken, progress, total: 100, message: wordsOf(seen) };
      yield { method: "notifications/progress", params };
    }
    if (ctx.res.destroyed) return;
    const seen = await taskFor(call, task.id);
    const result = isOutcome(seen.state) ? resultOf(ctx, seen, isModern) : pendingResult(ctx, seen, CHECK_TASK);
    const related = { "io.modelcontextprotocol/related-task": { taskId: seen.id } };
    isAnswered = true;
    yield { result: isResult ? { ...result, _meta: related } : result };
  } finally {
    // A server that stops closes connections, too.
    if (isOurs && !isAnswered && ctx.res.destroyed && !api.closing.aborted) await cancelUnlessAwaited(api, task);
  }
}
