import type { Context } from "koa";
import { estimate } from "../../engine/estimates/estimate.ts";
import type { Inspection, TaskEnd } from "../../engine/reading/inspect.ts";
import type { Submission } from "../../engine/submission/submission.ts";
import type { SubmissionVerdict } from "../../engine/submission/submit.ts";
import type { Wait } from "../../engine/watching/wait.ts";
import { ProblemError } from "../../errors.ts";
import { isOutcome } from "../../task.ts";
import { readSubmitOptions, type SubmitOptions } from "../../wire/submit-options.ts";
import type { Api } from "../api.ts";
import { checkedId } from "../batches/envelope.ts";
import { prefersEvents } from "../headers/accept.ts";
import { isAny } from "../headers/etag.ts";
import {
  checkPreconditions,
  onlyCreates,
  type Preconditions,
  preconditionFailed,
  readPreconditions,
} from "../headers/preconditions.ts";
import { type Preferences, parsePrefer } from "../headers/prefer.ts";
import { checkIdempotencyKey, isKeyed } from "../headers/request-id.ts";
import { readInput } from "../input/body.ts";
import { searchOf } from "../input/parameters.ts";
import type { LiveTasks } from "../live/live-tasks.ts";
import { countRepeated, whenGone } from "../live/long-poll.ts";
import { currentId } from "../middleware/correlate.ts";
import { parameterRefs, submitParameters } from "../openapi/parameters.ts";
import { SUBMITTED } from "../openapi/responses.ts";
import { ANY_INPUT, inputOf } from "../openapi/schemas/inputs.ts";
import { inputHandlerOf } from "../queues/named-queue.ts";
import { DEFAULT_QUEUE, type Route, SUBMIT } from "../route.ts";
import { accessOf, maySee, signatureOf } from "../task/access.ts";
import { documentOf } from "../task/documents/monitor-document.ts";
import { observe } from "../task/find.ts";
import { paths, TASK_PATHS } from "../task/links.ts";
import { pendingHeaders, pendingTask, replyAccepted, replyOutcome, storedTask } from "../task/reply.ts";
import { checkAccepted, conflict, tooMany } from "./refusal.ts";
import { send } from "./send.ts";
import { assembleSubmission, withWebhook } from "./submission.ts";

/** What the description of a submission says of its events. */
export const EVENTS_AS_ANSWER =
  "If `Accept` prefers text/event-stream: 200 at once, with the headers of a 202 and the events of the task (as from `/events`); `Prefer` is then not applied.";

const POST = {
  method: "POST",
  scopes: SUBMIT,
  submits: "under the caller's key",
  tag: "Submit",
  description: EVENTS_AS_ANSWER,
  parameters: submitParameters(),
  answers: SUBMITTED,
} as const satisfies Partial<Route>;

const PUT = {
  method: "PUT",
  scopes: SUBMIT,
  submits: "under the path's id",
  tag: "Submit",
  description: `If the task is waiting, its input is replaced; it keeps its place, and the response is its document. ${EVENTS_AS_ANSWER}`,
  parameters: [
    ...submitParameters(({ name }) => name !== "X-Request-Id" && name !== "Idempotency-Key"),
    ...parameterRefs("If-Match", "If-None-Match-write"),
  ],
  answers: SUBMITTED,
} as const satisfies Partial<Route>;

/** Submitting one task. */
export function submitRoutes(api: Api, live: LiveTasks): readonly Route[] {
  return [
    {
      ...POST,
      name: "submit",
      path: "/v1/requests",
      summary: `Submit to the queue ${DEFAULT_QUEUE}`,
      body: inputOf(DEFAULT_QUEUE),
      run: (ctx) => submit(ctx, api, live, DEFAULT_QUEUE),
    },
    {
      ...POST,
      name: "submitTo",
      path: "/v1/queues/:queue/requests",
      summary: "Submit to any queue",
      body: ANY_INPUT,
      run: (ctx) => submit(ctx, api, live, ctx.params.queue),
    },
    {
      ...PUT,
      name: "put",
      path: TASK_PATHS.result,
      summary: `Submit to the queue ${DEFAULT_QUEUE} under an id of your choice`,
      body: inputOf(DEFAULT_QUEUE),
      run: (ctx) => submit(ctx, api, live, DEFAULT_QUEUE, ctx.params.id),
    },
    {
      ...PUT,
      name: "putTo",
      path: "/v1/queues/:queue/requests/:id",
      summary: "Submit to any queue under an id of your choice",
      body: ANY_INPUT,
      run: (ctx) => submit(ctx, api, live, ctx.params.queue, ctx.params.id),
    },
  ];
}

async function submit(ctx: Context, api: Api, live: LiveTasks, queue: string, pathId?: string): Promise<void> {
  if (pathId !== undefined) checkedId(pathId);
  const handler = inputHandlerOf(api, queue);
  if (pathId === undefined) checkIdempotencyKey(ctx.headers);
  const given = optionsOf(ctx);
  const id = pathId ?? currentId();
  const checked = await readInput(ctx.req, handler, api.maxBodyBytes);
  const options = await withWebhook(api, given, id);
  const submission = assembleSubmission(ctx, api, { id, handler, options, checked });
  if (pathId === undefined) await postAndAnswer(ctx, api, live, submission);
  else await putAndAnswer(ctx, api, submission, eventsFor(ctx, submission, live));
}

/** The options of a request. @throws ProblemError invalid-parameter */
export const optionsOf = (ctx: Context): SubmitOptions => readSubmitOptions(searchOf(ctx), ctx.headers);

/** The events of tasks, if the caller prefers those of this one as the answer. */
function eventsFor(ctx: Context, { options }: Submission, live: LiveTasks): LiveTasks | undefined {
  return !options.dryRun && prefersEvents(String(ctx.headers.accept ?? "")) ? live : undefined;
}

/** Submits a task under an id that no path names, and answers as Prefer and Accept ask. */
export function postAndAnswer(ctx: Context, api: Api, live: LiveTasks, submission: Submission): Promise<void> {
  const events = eventsFor(ctx, submission, live);
  return submitAndAnswer(ctx, api, submission, events ? { put: false, events } : PLAIN_POST);
}

async function putAndAnswer(ctx: Context, api: Api, submission: Submission, events?: LiveTasks): Promise<void> {
  const conditions = readPreconditions(ctx);
  await submitAndAnswer(ctx, api, submission, {
    put: true,
    ...(events && { events }),
    ...(conditions && (await conditioned(ctx, api, submission, conditions))),
  });
}

const PLAIN_POST: SubmitMode = { put: false };

/** The conditions of a PUT that the store has to check. @throws ProblemError precondition-failed */
async function conditioned(
  ctx: Context,
  api: Api,
  { id, options }: Submission,
  conditions: Preconditions,
): Promise<Pick<SubmitMode, "create" | "revision">> {
  if (onlyCreates(conditions) && !options.dryRun) return { create: true };
  const seen = await api.engine.tasks.inspect(id, { result: true, inPieces: true });
  // A submission under the id of another caller's task is refused without checking conditions, which would reveal something
  // about it.
  if (seen && !maySee(accessOf(ctx), seen)) return {};
  checkPreconditions(id, conditions, seen);
  return seen && conditions.ifMatch !== "" && !isAny(conditions.ifMatch) ? { revision: seen.revision } : {};
}

/** How a submission treats an id that is taken. */
interface SubmitMode {
  /** For a PUT: a different input replaces the stored one. */
  readonly put: boolean;
  /** Only if no task has the id. */
  readonly create?: boolean;
  /** Replaces the input only if it has this version. */
  readonly revision?: number;
  /** Answered with the events of the task, whatever Prefer says. */
  readonly events?: LiveTasks;
}

/** Submits a request that has been read and checked, and answers as Prefer asks. */
export async function submitAndAnswer(ctx: Context, api: Api, submission: Submission, how: SubmitMode): Promise<void> {
  const prefer = parsePrefer(String(ctx.headers.prefer ?? ""));
  const waitMs = how.events ? 0 : waitOf(prefer, api.syncLimitMs);
  // Counted before anything is stored, since too many streams refuse the submission.
  if (how.events) api.streams.add(ctx);
  // Both at once: if the store is unavailable, the caller would otherwise wait for two timeouts.
  const wait = waitMs > 0 && !submission.options.dryRun ? api.engine.tasks.wait(submission) : undefined;
  const deadline = Date.now() + waitMs;
  try {
    const verdict = await send(ctx, api, submission, wait !== undefined);
    await answer(ctx, api, { submission, prefer, waitMs, deadline, wait, how }, verdict);
  } finally {
    wait?.stop();
  }
}

/** How long the caller waits, ms: 0 is an immediate 202. */
function waitOf(prefer: Preferences, limitMs: number): number {
  if (prefer.wait !== undefined) return Math.min(prefer.wait * 1000, limitMs);
  return prefer.respondAsync ? 0 : limitMs;
}

/** The preferences that a 202 has applied. */
function appliedOf({ respondAsync, waitAsSent }: Preferences): string {
  if (waitAsSent === undefined) return "respond-async";
  return respondAsync ? `respond-async, ${waitAsSent}` : waitAsSent;
}

interface SubmitRequest {
  readonly submission: Submission;
  readonly prefer: Preferences;
  readonly waitMs: number;
  /** Until when the caller waits, by `Date.now()`. */
  readonly deadline: number;
  readonly wait: Wait | undefined;
  readonly how: SubmitMode;
}

async function answer(ctx: Context, api: Api, asked: SubmitRequest, verdict: SubmissionVerdict): Promise<void> {
  const { submission, wait } = asked;
  const { id } = submission;
  if (verdict.verdict === "dry") return replyDryRun(ctx, submission, verdict);
  const { put, create } = asked.how;
  if (create && (verdict.verdict === "replay" || verdict.verdict === "conflict")) {
    throw preconditionFailed(id, "If-None-Match: the id is taken.");
  }
  if (verdict.verdict === "conflict" && put) return replyUpdated(ctx, api, asked, verdict);
  checkAccepted(ctx, submission, verdict, { byKey: !put && isKeyed(ctx.headers) });
  if (verdict.verdict === "replay") ctx.set("Idempotent-Replayed", "true");
  if (asked.how.events) return replyEvents(ctx, api, asked.how.events, asked, verdict);
  if (wait) {
    countRepeated(ctx, api, verdict);
    whenGone(ctx, api, () => wait.leave());
    const waited = await wait.outcome(asked.deadline, verdict.verdict === "new");
    return waited.end ? replyEnd(ctx, asked, waited.end) : replyPendingTask(ctx, asked, verdict, waited.seen);
  }
  if (verdict.verdict === "new") return replyPendingTask(ctx, asked, verdict, null);
  const seen = await api.engine.tasks.inspect(id, { result: true, inPieces: true, attends: () => true });
  return seen && isOutcome(seen.state) ? replyEnd(ctx, asked, seen) : replyPendingTask(ctx, asked, verdict, seen);
}

/** Answers with the events of the task: at once, with the headers of a 202. @throws ProblemError deleted */
async function replyEvents(
  ctx: Context,
  api: Api,
  live: LiveTasks,
  { submission }: SubmitRequest,
  verdict: SubmissionVerdict,
): Promise<void> {
  const { id } = submission;
  ctx.vary("Accept");
  const seen = verdict.verdict === "new" ? null : await observe(ctx, api, id);
  const task = seen ? pendingTask(seen) : storedTask(submission, verdict);
  pendingHeaders(ctx, task);
  live.beginEvents(ctx, task);
}

/** Answers once the task has ended or the wait is over. */
function replyEnd(ctx: Context, { prefer, waitMs }: SubmitRequest, end: TaskEnd): void {
  if (prefer.waitAsSent !== undefined && waitMs > 0) ctx.set("Preference-Applied", prefer.waitAsSent);
  replyOutcome(ctx, end);
}

/** Answers for a task that is still pending. @throws ProblemError sync-timeout if its result was asked for */
function replyPendingTask(
  ctx: Context,
  asked: SubmitRequest,
  verdict: SubmissionVerdict,
  seen: Inspection | null,
): void {
  const { submission, prefer } = asked;
  const { id, queue, caller } = submission;
  if (prefer.respondAsync || prefer.wait !== undefined) {
    ctx.set("Preference-Applied", appliedOf(prefer));
    return replyAccepted(ctx, seen ? pendingTask(seen) : storedTask(submission, verdict));
  }
  throw new ProblemError("sync-timeout", "The task continues: collect its result at Location.", {
    extensions: { id, queue, state: seen?.state ?? verdict.state },
    headers: { Location: paths.result(id, signatureOf(ctx, { id, caller, createdMs: verdict.createdMs })) },
    retryAfterS: seen ? pendingTask(seen).retryAfterS : 1,
  });
}

/** Answers where the task would be; a scheduled task has no place in line before it is due. */
function replyDryRun(
  ctx: Context,
  { queue }: Submission,
  { state, index, dueInMs, snapshot }: SubmissionVerdict,
): void {
  ctx.body = { queue, index, eta: estimate(snapshot, { state: state ?? "waiting", index, dueMs: dueInMs }, 0) };
}

/** A PUT under an id that is taken, with another input: replaces it while the task has not begun. */
async function replyUpdated(
  ctx: Context,
  api: Api,
  { submission, how: { revision, events } }: SubmitRequest,
  { snapshot }: SubmissionVerdict,
): Promise<void> {
  const settings = api.engine.queues.settings(submission.queue);
  const updated = await api.engine.tasks.update(submission, settings, revision);
  if (updated === "changed")
    throw preconditionFailed(submission.id, "If-Match: the input has been replaced in the meantime.");
  if (typeof updated === "object") throw tooMany(submission.queue, updated, snapshot);
  const seen = await api.engine.tasks.inspect(submission.id, { result: true, inPieces: true, attends: () => true });
  if (updated !== "updated" || !seen)
    throw conflict(submission.id, "The task has begun or ended: its input cannot be replaced.");
  if (events) {
    pendingHeaders(ctx, pendingTask(seen));
    return events.beginEvents(ctx, seen);
  }
  ctx.body = documentOf(ctx, api, seen);
}
