import type { Context } from "koa";
import { estimate } from "../../engine/estimates/estimate.ts";
import { isTurn, type Original, type Submission } from "../../engine/tasks/submission.ts";
import type { SubmissionVerdict } from "../../engine/tasks/submit.ts";
import type { Inspection, TaskEnd } from "../../engine/watch/inspect.ts";
import { Wait } from "../../engine/watch/wait.ts";
import { ProblemError, reasonOf } from "../../errors.ts";
import { isOutcome } from "../../task.ts";
import { traceOf } from "../../trace/trace-context.ts";
import type { Api } from "../api.ts";
import { isChosenId, isKeyed } from "../headers/request-id.ts";
import type { LiveTasks } from "../live/live-tasks.ts";
import { prefersEvents } from "../request/accept.ts";
import { type Preferences, parsePrefer } from "../request/prefer.ts";
import { routeOf } from "../route.ts";
import { countRepeated, whenGone } from "../server/long-poll.ts";
import { observe } from "../task/find.ts";
import { linksFor } from "../task/links.ts";
import { preconditionFailed } from "../task/preconditions.ts";
import { pendingHeaders, pendingTask, replyOutcome, replyPending, storedTask } from "../task/reply.ts";
import { documentOf, isCalled } from "../task/task-document.ts";
import { replyTurn } from "../task/turn.ts";
import { conflict, refusalOf, tooMany } from "./refusal.ts";

/** How a submission treats an id that is taken. */
export interface SubmitMode {
  /** For a PUT: a different input replaces the stored one. */
  readonly put: boolean;
  /** Only if no task has the id. */
  readonly create?: boolean;
  /** Replaces the input only if it has this version. */
  readonly revision?: number;
  /** Cancels a new task if its caller, who waits for the result alone, hangs up, and nobody else waits for it. */
  readonly hangUpCancels?: boolean;
  /** The events of tasks, with which a caller that prefers them is answered, whatever Prefer says; absent: never. */
  readonly live?: LiveTasks;
}

/** Submits a request that has been read and checked, and answers as Prefer asks. */
export async function submitAndAnswer(ctx: Context, api: Api, submission: Submission, how: SubmitMode): Promise<void> {
  const prefer = parsePrefer(String(ctx.headers.prefer ?? ""));
  const prefersLive = !submission.options.dryRun && prefersEvents(String(ctx.headers.accept ?? ""));
  const events = prefersLive ? how.live : undefined;
  const waitMs = events ? 0 : waitOf(prefer, api.syncLimitMs);
  // Counted before anything is stored, since too many streams refuse the submission.
  if (events) api.streams.add(ctx);
  // Both at once: if the store is unavailable, the caller would otherwise wait for two timeouts.
  const forTurn = isTurn(submission, api.engine.queues.settings(submission.queue));
  const wait = waitMs > 0 && !submission.options.dryRun ? new Wait(submission, api.engine, forTurn) : undefined;
  const deadline = Date.now() + waitMs;
  try {
    const verdict = await send(ctx, api, submission, wait !== undefined);
    await answer(ctx, api, { submission, prefer, waitMs, deadline, wait, how, events, forTurn }, verdict);
  } finally {
    wait?.stop();
  }
}

/** How long the caller waits, ms: 0 is an immediate 202. */
function waitOf(prefer: Preferences, limitMs: number): number {
  if (prefer.wait !== undefined) return Math.min(prefer.wait * 1000, limitMs);
  return prefer.respondAsync ? 0 : limitMs;
}

interface SubmitRequest {
  readonly submission: Submission;
  readonly prefer: Preferences;
  readonly waitMs: number;
  /** Until when the caller waits, by `Date.now()`. */
  readonly deadline: number;
  readonly wait: Wait | undefined;
  readonly how: SubmitMode;
  /** It is a turn, which may have begun with the submission. */
  readonly forTurn: boolean;
  /** Answers with the events of the task. */
  readonly events: LiveTasks | undefined;
}

/** Answers what the store has decided: at once, without a promise, unless there is something to wait for. */
function answer(ctx: Context, api: Api, asked: SubmitRequest, verdict: SubmissionVerdict): Promise<void> | void {
  const { submission, wait } = asked;
  if (verdict.verdict === "dry") return replyDryRun(ctx, submission, verdict);
  const { put, create } = asked.how;
  if (create && (verdict.verdict === "replay" || verdict.verdict === "conflict")) {
    throw preconditionFailed(submission.id, "If-None-Match: the id is taken.");
  }
  if (verdict.verdict === "conflict" && put) return replyUpdated(ctx, api, asked, verdict);
  checkAccepted(ctx, submission, verdict);
  if (verdict.verdict === "replay") ctx.set("Idempotent-Replayed", "true");
  if (asked.events) return replyEvents(ctx, api, asked.events, asked, verdict);
  if (wait) return replyWhenEnded(ctx, api, { ...asked, wait }, verdict);
  if (verdict.verdict === "new" && !asked.forTurn) return replyPendingTask(ctx, asked, verdict, null);
  return replySeen(ctx, api, asked, verdict);
}

/** Answers with the result, or for a pending task once the wait is over. */
async function replyWhenEnded(
  ctx: Context,
  api: Api,
  asked: SubmitRequest & { readonly wait: Wait },
  verdict: SubmissionVerdict,
): Promise<void> {
  const { wait, deadline, submission } = asked;
  countRepeated(ctx, api, verdict);
  whenGone(ctx, api, () => wait.leave());
  const waited = await wait.outcome(deadline, verdict.verdict === "new" && verdict.fence === undefined);
  // A server that stops closes connections, too.
  if (!waited.end && mayCancel(asked, verdict) && ctx.res.destroyed && !api.closing.aborted) {
    wait.stop();
    await cancelUnlessAwaited(api, submission);
  }
  if (waited.end) return replyEnd(ctx, asked, waited.end);
  const { seen } = waited;
  if (seen === null || !isCalled(seen)) return replyPendingTask(ctx, asked, verdict, seen);
  noteWait(ctx, asked);
  replyTurn(ctx, api, seen);
}

/** Answers for a task that was there before. */
async function replySeen(ctx: Context, api: Api, asked: SubmitRequest, verdict: SubmissionVerdict): Promise<void> {
  const { id } = asked.submission;
  const seen = await api.engine.inspector.inspect(id, { result: true, inPieces: true, attends: () => true });
  if (seen && isOutcome(seen.state)) replyEnd(ctx, asked, seen);
  else replyPendingTask(ctx, asked, verdict, seen);
}

/** Whether the task is there for this request only: who prefers to be answered before its end may collect it later. */
function mayCancel({ how, prefer }: SubmitRequest, { verdict }: SubmissionVerdict): boolean {
  return how.hangUpCancels === true && verdict === "new" && !prefer.respondAsync && prefer.wait === undefined;
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
function replyEnd(ctx: Context, asked: SubmitRequest, end: TaskEnd): void {
  noteWait(ctx, asked);
  replyOutcome(ctx, end);
}

/** The wait that the caller preferred has shaped the answer. */
function noteWait(ctx: Context, { prefer, waitMs }: SubmitRequest): void {
  if (prefer.waitAsSent !== undefined && waitMs > 0) ctx.set("Preference-Applied", prefer.waitAsSent);
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
    const applied = [
      ...(prefer.respondAsync ? ["respond-async"] : []),
      ...(prefer.waitAsSent ? [prefer.waitAsSent] : []),
    ];
    return replyPending(ctx, seen ? pendingTask(seen) : storedTask(submission, verdict), 202, applied.join(", "));
  }
  throw new ProblemError("sync-timeout", "The task continues: collect its result at Location.", {
    extensions: { id, queue, state: seen?.state ?? verdict.state },
    headers: {
      Location: linksFor(ctx, { id, caller, createdMs: verdict.createdMs }).result,
      // Some clients repeat any 504, and would submit another task.
      ...(!isChosenId(ctx, id) && { "X-Should-Retry": "false" }),
    },
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
  { submission, events, how: { revision } }: SubmitRequest,
  { snapshot }: SubmissionVerdict,
): Promise<void> {
  const settings = api.engine.queues.settings(submission.queue);
  const updated = await api.engine.submitter.update(submission, settings, revision);
  if (updated === "changed")
    throw preconditionFailed(submission.id, "If-Match: the input has been replaced in the meantime.");
  if (typeof updated === "object") throw tooMany(submission.queue, updated, snapshot);
  const seen = await api.engine.inspector.inspect(submission.id, { result: true, inPieces: true, attends: () => true });
  if (updated !== "updated" || !seen)
    throw conflict(submission.id, "The task has begun or ended: its input cannot be replaced.");
  if (events) {
    pendingHeaders(ctx, pendingTask(seen));
    return events.beginEvents(ctx, seen);
  }
  ctx.body = documentOf(ctx, api, seen);
}

/**
 * Submits a task in the trace of its request.
 * @param listen see `submit` of the engine
 */
export function send(ctx: Context, api: Api, submission: Submission, listen = false): Promise<SubmissionVerdict> {
  const { engine, tracing } = api;
  const settings = engine.queues.settings(submission.queue);
  const sent =
    tracing && !submission.options.dryRun
      ? tracing.send(submission, (trace) => engine.submitter.submit(submission, settings, listen, trace))
      : engine.submitter.submit(submission, settings, listen, traceOf(ctx.headers));
  return submission.original === undefined ? sent : noted(sent, api, submission.id, submission.original);
}

/** Notes in the original which task repeats it. The repetition is stored even if this fails. */
async function noted(
  sent: Promise<SubmissionVerdict>,
  { engine, log }: Api,
  id: string,
  original: Original,
): Promise<SubmissionVerdict> {
  const verdict = await sent;
  const failed = (error: unknown) =>
    log.warn(
      { original: original.id, err: error },
      "submission: could not note in the original task which task repeats it",
    );
  if (verdict.verdict === "new") await engine.call("again", { ...original, again: id }).catch(failed);
  return verdict;
}

/**
 * Refuses a submission that is not answered as accepted, see {@link refusalOf}.
 * @throws ProblemError
 */
export function checkAccepted(ctx: Context, submission: Submission, verdict: SubmissionVerdict): void {
  // Nothing is built for the most frequent case.
  if (verdict.verdict === "new" && verdict.durable) return;
  const byKey = routeOf(ctx)?.submits === "under the caller's key" && isKeyed(ctx.headers);
  const refusal = refusalOf(submission, verdict, { byKey, linksTo: (task) => linksFor(ctx, task) });
  if (refusal) throw refusal;
}

/**
 * Cancels the task of a caller that has hung up, unless someone else waits for it or has watched it: here, or at another process, which its
 * record names. Never rejects.
 */
export async function cancelUnlessAwaited(
  { engine, log }: Pick<Api, "engine" | "log">,
  { id, queue }: Pick<Submission, "id" | "queue">,
): Promise<void> {
  if (engine.notices.has(id)) return;
  try {
    const verdict = await engine.call("cancel", { id, queue, only: "pending", onlyListener: engine.notices.process });
    if (verdict !== "left") log.info({ queue, verdict }, "the caller has hung up: its task is canceled");
  } catch (error) {
    const reason = reasonOf(error);
    log.warn({ queue, reason }, "the caller has hung up, but its task could not be canceled; it goes on");
  }
}
