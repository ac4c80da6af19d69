import { validateHeaderValue } from "node:http";
import { Readable } from "node:stream";
import type { Context } from "koa";
import { beforeMember, resultJson } from "../../engine/tasks/result.ts";
import type { Inspection, TaskEnd } from "../../engine/watch/inspect.ts";
import { BODILESS, isActive, keptHeaders } from "../../handler/result-headers.ts";
import { type Body, isJsonType, type Result } from "../../task.ts";
import type { Api } from "../api.ts";
import { isConditional, replyIfNotModified } from "../request/etag.ts";
import { routeOf } from "../route.ts";
import { answerAtOnce, handOver, setCommonFields, setFields } from "../server/response.ts";

/**
 * Answers with the result of a task that has succeeded, or 304 if the caller has it.
 * @param more further header fields, names and values in turns
 */
export function replyResult(ctx: Context, seen: TaskEnd, result: Result, more: readonly string[]): void {
  const fields = [...more, ...resultFields(seen, result)];
  const { status, body, rest, contentType } = result;
  if (BODILESS.has(status)) {
    setFields(ctx, fields);
    ctx.body = null;
    ctx.status = status;
    return;
  }
  if (contentType !== null) fields.push("Content-Type", fitType(contentType));
  if (rest === undefined && contentType !== null && ctx.method !== "HEAD" && !isConditional(ctx)) {
    return answerAtOnce(ctx, status, fields, Buffer.from(body.buffer, body.byteOffset, body.byteLength));
  }
  ctx.status = status;
  setFields(ctx, fields);
  setBody(ctx, result);
  if (contentType === null) ctx.remove("Content-Type");
  replyIfNotModified(ctx);
  const isHeadOf = ctx.method === "HEAD" && routeOf(ctx)?.forwards && body.length === 0;
  if (isHeadOf && ctx.status !== 304) return replyHead(ctx, result);
  // Where Node writes the head together with the body, it changes bytes of this header above 0x7F.
  if (ctx.response.get("Content-Disposition") === "") return;
  setCommonFields(ctx);
  ctx.res.writeHead(ctx.status);
}

/** The header fields of a result but its type, names and values in turns: its own, how long it may be cached, and its version. */
function resultFields(seen: TaskEnd, result: Result): string[] {
  const { nowMs, expiresMs } = seen;
  const own = keptHeaders(Object.entries(result.headers));
  const fields = Object.entries(own).flat();
  if (own["cache-control"] === undefined && own.expires === undefined) {
    const leftMs = Math.max(0, (expiresMs ?? nowMs) - nowMs);
    fields.push("Expires", new Date(nowMs + leftMs).toUTCString());
    fields.push("Cache-Control", `private, max-age=${Math.floor(leftMs / 1000)}`);
  }
  if (own.etag === undefined) fields.push("ETag", madeTag(seen, result));
  // A page in a result must not run as one of our pages, with the rights of the dashboard. Browsers enforce all policies.
  if (result.body.length > 0 && isActive(result.contentType)) fields.push("Content-Security-Policy", "sandbox");
  return fields;
}

/** The ETag of a result: that of the handler, else ours. */
export function resultTag(seen: TaskEnd, result: Result): string {
  return keptHeaders(Object.entries(result.headers)).etag ?? madeTag(seen, result);
}

function madeTag({ finishedMs, attempts }: TaskEnd, result: Result): string {
  return `"${(finishedMs ?? 0).toString(36)}-${attempts}-${bodyLength(result).toString(36)}"`;
}

/** A type that is valid in a header: a result without its type is better than none. */
export function fitType(contentType: string): string {
  try {
    validateHeaderValue("content-type", contentType);
    return contentType;
  } catch {
    return "application/octet-stream";
  }
}

/**
 * Answers HEAD with the API's response to it. Only the API knows the length of its response to GET; if it did not send it,
 * neither do we (RFC 9110 §8.6).
 */
function replyHead(ctx: Context, result: Result): void {
  const length = result.headers["content-length"];
  ctx.remove("Content-Length");
  if (length !== undefined && /^\d+$/.test(length)) ctx.set("Content-Length", length);
  handOver(ctx).end();
}

/** The length of a body, even if only its beginning was read. */
function bodyLength({ body, rest }: Body): number {
  return body.length + (rest?.bytes ?? 0);
}

/**
 * Answers with a stored body, perhaps with text around it. The rest of a long body is read as the client reads; if that fails,
 * the connection is closed, and the client sees from Content-Length that the body is incomplete.
 */
export function setBody(ctx: Context, stored: Body, before = "", after = ""): void {
  const { body, rest } = stored;
  const start = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  if (rest === undefined) {
    ctx.body = before === "" ? start : before + start.toString("utf8") + after;
    return;
  }
  const pieces = async function* () {
    yield before === "" ? start : Buffer.concat([Buffer.from(before), start]);
    yield* rest.pieces();
    if (after !== "") yield Buffer.from(after);
  };
  ctx.body = Readable.from(pieces());
  ctx.length = Buffer.byteLength(before) + bodyLength(stored) + Buffer.byteLength(after);
}

/** A document of which the result of a task is a member. */
interface EmbeddingDocument {
  readonly document: object;
  /** The name of the member, which comes last. */
  readonly member: string;
  /** Members of the document of a result that is not JSON. */
  readonly otherwise: object;
}

/**
 * Answers with a document that has the result of a task in it, if that is JSON.
 * @param seen the task, with its result, perhaps in pieces
 */
export async function replyEmbedding(
  ctx: Context,
  api: Pick<Api, "engine">,
  seen: Pick<Inspection, "id"> & { readonly result: Result },
  { document, member, otherwise }: EmbeddingDocument,
): Promise<void> {
  ctx.type = "application/json";
  const { result } = seen;
  if (result.body.length === 0) ctx.body = JSON.stringify({ ...document, [member]: null });
  else if (await isJson(api, seen.id, result)) {
    setBody(ctx, result, beforeMember(JSON.stringify(document), member), "}");
  } else ctx.body = JSON.stringify({ ...document, ...otherwise });
}

/** Whether a result is JSON: the body of a handler's Response need not be. A long one is buffered only until that is known. */
async function isJson({ engine }: Pick<Api, "engine">, id: string, result: Result): Promise<boolean> {
  if (!isJsonType(result.contentType)) return false;
  const whole = result.rest ? (await engine.inspector.inspect(id, { result: true }))?.result : result;
  return !!whole && resultJson(whole, Number.POSITIVE_INFINITY) !== undefined;
}
