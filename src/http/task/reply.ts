import type { Context } from "koa";
import { estimate, restMs } from "../../engine/estimates/estimate.ts";
import { PROBLEM_TYPE } from "../../engine/tasks/result.ts";
import type { Submission } from "../../engine/tasks/submission.ts";
import type { SubmissionVerdict } from "../../engine/tasks/submit.ts";
import { type Inspection, longestPauseS, type TaskEnd } from "../../engine/watch/inspect.ts";
import { type ErrorCode, errorEntry, ProblemError } from "../../errors.ts";
import type { State } from "../../task.ts";
import { timestamp } from "../../wire/document.ts";
import type { Eta } from "../../wire/task.ts";
import { pendingRetryAfterS } from "../headers/retry-after.ts";
import { problemDocument, replyDocument, shownProblem } from "../problems/problem.ts";
import { linkTo, type Sender } from "../request/forwarded.ts";
import type { ReplyProblem } from "../route.ts";
import { answerAtOnce, setFields } from "../server/response.ts";
import { absolute, linksFor, pendingLinksJson, type TaskLinks } from "./links.ts";
import { replyResult } from "./reply-result.ts";
import { problemMembers } from "./task-document.ts";

/** A pending task: the parts that are in the response. */
export interface PendingTask {
  readonly id: string;
  readonly caller: string | null;
  readonly createdMs: number;
  readonly queue: string;
  readonly state: State;
  readonly index: number | null;
  readonly eta: Eta | null;
  readonly retryAfterS: number;
  /** After how long without a look it is canceled. */
  readonly presenceMs: number | null;
}

/** A task that was read, as a pending one. */
export function pendingTask(seen: Inspection): PendingTask {
  const { state, startedMs, nowMs, snapshot, progress, presenceMs, longestMs } = seen;
  // Nothing new comes to who holds a turn: a look only keeps it.
  const keptMs = longestMs === null ? null : presenceMs;
  const isRunning = state === "running" && startedMs !== null;
  const runningMs = isRunning ? (keptMs ?? restMs(snapshot, progress, nowMs - startedMs)) : null;
  return pending(seen, state, seen.eta, runningMs);
}

/** A task that was just stored, as a pending one, without reading it. */
export function storedTask({ id, queue, caller, options }: Submission, verdict: SubmissionVerdict): PendingTask {
  const { createdMs, index, snapshot, state, dueInMs, turn = null } = verdict;
  const eta = estimate(snapshot, { state: state ?? "waiting", index, dueMs: dueInMs, turn }, 0);
  const { presenceMs } = options;
  return pending({ id, caller, createdMs, queue, index, presenceMs }, state ?? "waiting", eta, null);
}

function pending(
  task: Pick<Inspection, "id" | "caller" | "createdMs" | "queue" | "index" | "presenceMs">,
  state: State,
  eta: Eta | null,
  runningMs: number | null,
): PendingTask {
  const { id, caller, createdMs, queue, index, presenceMs } = task;
  const retryAfterS = Math.min(pendingRetryAfterS(eta, runningMs), longestPauseS(presenceMs));
  return { id, caller, createdMs, queue, state, index, eta, retryAfterS, presenceMs };
}

/** The header fields about a pending task, names and values in turns. */
function pendingFields(ctx: Context, task: PendingTask, at: TaskLinks): string[] {
  const { state, index, eta, retryAfterS, presenceMs } = task;
  const fields = [
    ...["Link", `<${at.monitor}>; rel="monitor", <${at.events}>; rel="alternate"; type="text/event-stream"`],
    ...["Location", at.result],
    ...["Operation-Location", absolute(ctx, at.monitor)],
    ...["Retry-After", String(retryAfterS)],
    ...["X-Task-State", state],
    ...["Cache-Control", "no-store"],
  ];
  if (index !== null) fields.push("X-Queue-Index", String(index));
  if (eta !== null) fields.push("X-Queue-ETA", String(eta.seconds));
  if (presenceMs !== null) fields.push("Presence", String(presenceMs / 1000));
  return fields;
}

/** Adds the headers about a pending task to the response, for answers with another body. Returns its links. */
export function pendingHeaders(ctx: Context, task: PendingTask): TaskLinks {
  const at = linksFor(ctx, task);
  setFields(ctx, pendingFields(ctx, task, at));
  return at;
}

/** The members of the problem `pending` after its type, as JSON without its braces. */
const { type: PENDING_TYPE, ...PENDING_OTHERS } = problemDocument("pending");
const PENDING_PROBLEM = `${JSON.stringify(PENDING_OTHERS).slice(1, -1)},`;

/**
 * Answers 202: the task is accepted, and its result comes later. Or 404 `pending` with the same members, the first four of which are
 * those of PayPal's pattern. Written as text, since this is the most frequent response, and JSON.stringify would take longer than the
 * rest. Ids, queues, states and signatures contain nothing that JSON has to escape.
 * @param applied the value of Preference-Applied, if any
 */
export function replyPending(ctx: Context, task: PendingTask, status: 404 | 202, applied?: string): void {
  const { id, queue, state, index, eta } = task;
  const at = linksFor(ctx, task);
  const fields = pendingFields(ctx, task, at);
  fields.push("Content-Type", status === 404 ? PROBLEM_TYPE : "application/json; charset=utf-8");
  if (applied !== undefined) fields.push("Preference-Applied", applied);
  const problem = status === 404 ? `"type":"${linkTo(ctx, PENDING_TYPE)}",${PENDING_PROBLEM}` : "";
  const self = `"rel":"self","href":"${at.result}","method":"GET"`;
  const members = `"index":${index},"id":"${id}","queue":"${queue}","state":"${state}","eta":${JSON.stringify(eta)}`;
  answerAtOnce(ctx, status, fields, `{${problem}${self},${members},"links":${pendingLinksJson(at)}}`);
}

/** The problem that answers collecting a task that has ended without a result; null if it has one. */
export function outcomeProblem(sender: Sender, seen: TaskEnd): ReplyProblem | null {
  // Nothing is built for the most frequent case.
  if (hasResult(seen)) return null;
  const { status, document } = problemOfEnd(seen);
  return { status, document: shownProblem(sender, document) };
}

/** Whether collecting a task that has ended answers with its result. */
export function hasResult({ state, deleted, expired, result }: TaskEnd): boolean {
  return state === "succeeded" && !deleted && !expired && result !== null;
}

function problemOfEnd(seen: TaskEnd): ReplyProblem {
  const { id, queue, state, result } = seen;
  const task = { id, queue, state };
  const finishedAt = timestamp(seen.finishedMs);
  if (state === "canceled") {
    const reason = seen.canceledBy === null ? {} : { reason: seen.canceledBy };
    return catalogueProblem("canceled", { ...task, finishedAt, ...reason });
  }
  if (seen.deleted) return catalogueProblem("deleted", { ...task, finishedAt });
  if (seen.expired || !result) {
    const times = { finishedAt, expiredAt: timestamp(seen.expiresMs) };
    return catalogueProblem("expired", { ...task, ...times }, "The result has expired.");
  }
  // The task's members are added here: the stored problem does not contain them.
  return { status: result.status, document: { ...problemMembers(result), status: result.status, ...task } };
}

function catalogueProblem(
  code: ErrorCode,
  extensions: Readonly<Record<string, unknown>>,
  detail?: string,
): ReplyProblem {
  return { status: errorEntry(code).status, document: problemDocument(code, detail, extensions) };
}

/** Answers as `GET /v1/requests/{id}` does for a task that is terminal. */
export function replyOutcome(ctx: Context, seen: TaskEnd): void {
  const problem = outcomeProblem(ctx, seen);
  const state = ["X-Task-State", seen.state];
  if (problem === null) {
    if (seen.result) replyResult(ctx, seen, seen.result, state);
    return;
  }
  if (seen.state === "failed" && !seen.deleted && !seen.expired && seen.result !== null) setFields(ctx, state);
  replyDocument(ctx, problem);
}

/** The error for an unknown task. */
export function unknownTask(id: string): ProblemError {
  return new ProblemError("unknown", undefined, { extensions: { id, index: null } });
}
