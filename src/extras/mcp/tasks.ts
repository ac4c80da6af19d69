import type { Context } from "koa";
import { estimatedPercent, restMs } from "../../engine/estimates/estimate.ts";
import { RESULT_LIMIT, resultJson } from "../../engine/tasks/result.ts";
import type { Inspection } from "../../engine/watch/inspect.ts";
import { absolute, linksFor } from "../../http/task/links.ts";
import { hasResult, pendingTask } from "../../http/task/reply.ts";
import { errorOf } from "../../http/task/task-document.ts";
import { isOutcome, type Result, type State } from "../../task.ts";
import { timestamp } from "../../wire/document.ts";
import { about, size } from "../../words/numbers.ts";
import { placeWords, runningWords } from "../../words/place.ts";
import { isObject } from "./message.ts";

/** How far a running task is: what its handler reported, else as long as others took; null if neither is known. */
export function percentOf({ state, progress, snapshot, startedMs, nowMs }: Inspection): number | null {
  if (state !== "running" || startedMs === null) return null;
  return progress?.percent ?? estimatedPercent(snapshot, startedMs, nowMs);
}

/** Where a task is, in figures: nothing that a handler or another caller has said. */
export function wordsOf(seen: Inspection): string {
  const { state, index, eta, startedMs, nowMs, snapshot, progress, cancelRequested } = seen;
  if (state === "waiting" && index !== null) return placeWords(index, eta);
  if (state === "running") {
    const leftMs = startedMs === null ? null : restMs(snapshot, progress, nowMs - startedMs);
    return cancelRequested ? "stopping" : runningWords(percentOf(seen), leftMs && leftMs / 1000);
  }
  const soon = eta === null ? "" : `, about ${about(eta.seconds)}`;
  return state === "retrying" ? `waiting for another attempt${soon}` : `${state}${soon}`;
}

/** The state of a task as the protocol has it. In the older revisions a failure is one, and a cancel counts at once. */
export function statusOf({ state, cancelRequested }: Inspection, isModern: boolean): string {
  const words: Partial<Record<State, string>> = {
    succeeded: "completed",
    failed: isModern ? "completed" : "failed",
    canceled: "cancelled",
  };
  return words[state] ?? (cancelRequested && !isModern ? "cancelled" : "working");
}

/** A task of the protocol. */
export function taskOf(seen: Inspection, isModern: boolean): object {
  const { id, state, createdMs, startedMs, finishedMs, expiresMs } = seen;
  const ttl = finishedMs === null || expiresMs === null ? null : Math.max(1, Math.ceil(expiresMs - createdMs));
  const poll = isOutcome(state) ? undefined : pendingTask(seen).retryAfterS * 1000;
  return {
    taskId: id,
    status: statusOf(seen, isModern),
    statusMessage: wordsOf(seen),
    createdAt: timestamp(createdMs),
    lastUpdatedAt: timestamp(finishedMs ?? startedMs ?? createdMs),
    ...(isModern ? { ttlMs: ttl, pollIntervalMs: poll } : { ttl, pollInterval: poll }),
  };
}

/** What a call of a tool gives. */
interface ToolResult {
  readonly content: readonly object[];
  readonly structuredContent?: unknown;
  readonly isError?: true;
}

const text = (text: string) => ({ type: "text", text });

/** What a model reads where a call came to nothing: it may do better with another one. */
export const failure = (message: string): ToolResult => ({ content: [text(message)], isError: true });

/** What a call gives whose task goes on. @param tool with which to go on waiting */
export function pendingResult(ctx: Context, seen: Inspection, tool: string): ToolResult {
  const said = `The task goes on: ${wordsOf(seen)}. Call ${tool} with task_id ${seen.id} for its result.`;
  return { content: [text(said), linkTo(ctx, seen)], structuredContent: taskOf(seen, true) };
}

const linkTo = (ctx: Context, seen: Inspection) => ({
  type: "resource_link",
  uri: absolute(ctx, linksFor(ctx, seen).result),
  name: `Result of ${seen.queue}`,
});

/** What the call of a tool gives whose task has ended: its result, or why it has none. */
export function resultOf(ctx: Context, seen: Inspection, isModern: boolean): ToolResult {
  const { result } = seen;
  if (!hasResult(seen) || result === null) {
    const error = seen.deleted || seen.expired ? null : errorOf(seen);
    return failure(error ? `${error.code}: ${error.message}` : "The result is no longer kept.");
  }
  const bytes = result.body.length + (result.rest?.bytes ?? 0);
  const given = bytes > RESULT_LIMIT ? longResult(ctx, seen, result, bytes) : shortResult(ctx, seen, result, isModern);
  return result.status < 400 ? given : { ...given, isError: true };
}

function longResult(ctx: Context, seen: Inspection, { contentType }: Result, bytes: number): ToolResult {
  const link = { ...linkTo(ctx, seen), mimeType: contentType ?? undefined, size: bytes };
  return { content: [text(`The result has ${size(bytes)}: ${link.uri}`), link] };
}

function shortResult(ctx: Context, seen: Inspection, result: Result, isModern: boolean): ToolResult {
  const bytes = Buffer.from(result.body);
  if (bytes.length === 0) return { content: [text("Done, without a result.")] };
  const json = resultJson(result, Number.POSITIVE_INFINITY);
  if (json !== undefined) {
    const value: unknown = JSON.parse(json);
    const content = [text(typeof value === "string" ? value : json)];
    // In the older revisions it is an object.
    return isModern || isObject(value) ? { content, structuredContent: value } : { content };
  }
  const mimeType = result.contentType ?? "application/octet-stream";
  const type = /^(text|image|audio)\//i.exec(mimeType)?.[1]?.toLowerCase();
  if (type === "text") return { content: [text(bytes.toString("utf8"))] };
  const data = bytes.toString("base64");
  const { uri } = linkTo(ctx, seen);
  return { content: [type ? { type, data, mimeType } : { type: "resource", resource: { uri, mimeType, blob: data } }] };
}
