import { validateHeaderValue } from "node:http";
import type { Context } from "koa";
import type { TaskEnd } from "../../engine/watch/inspect.ts";
import { BODILESS, isActive, keptHeaders } from "../../handler/result-headers.ts";
import type { Result } from "../../task.ts";
import { replyIfNotModified } from "../headers/not-modified.ts";
import { routeOf } from "../route.ts";
import { handOver } from "../server/response.ts";
import { bodyLength, setBody } from "./result-body.ts";

/** Answers with the result of a task that has succeeded, or 304 if the caller has it. */
export function replyResult(ctx: Context, seen: TaskEnd, result: Result): void {
  ctx.status = result.status;
  const own = setOwn(ctx, result);
  setLifetime(ctx, seen, result, own);
  if (BODILESS.has(result.status)) {
    ctx.body = null;
    ctx.status = result.status;
    return;
  }
  // A page in a result must not run as one of our pages, with the rights of the dashboard. Browsers enforce all policies.
  if (result.body.length > 0 && isActive(result.contentType)) {
    const policy = own["content-security-policy"];
    ctx.set("Content-Security-Policy", policy === undefined ? "sandbox" : [policy, "sandbox"]);
  }
  setBody(ctx, result);
  if (result.contentType === null) ctx.remove("Content-Type");
  else ctx.set("Content-Type", fitType(result.contentType));
  replyIfNotModified(ctx);
  const isHeadOf = ctx.method === "HEAD" && routeOf(ctx)?.forwards && result.body.length === 0;
  if (isHeadOf && ctx.status !== 304) return replyHead(ctx, result);
  // Where Node writes the head together with the body, it changes bytes of this header above 0x7F.
  if (own["content-disposition"] !== undefined) ctx.res.writeHead(ctx.status);
}

/** Sets the headers of the result. */
function setOwn(ctx: Context, result: Result): Readonly<Record<string, string>> {
  const own = keptHeaders(Object.entries(result.headers));
  // Only the handler knows what caches may do with what it sets.
  ctx.remove("Cache-Control");
  for (const [name, value] of Object.entries(own)) {
    // Not ctx.vary(), which throws if it contains what is not a name.
    if (name === "vary") ctx.append("Vary", value);
    else ctx.set(name, value);
  }
  return own;
}

/** Sets how long the result may be cached, and its version, unless the handler has. */
function setLifetime(ctx: Context, seen: TaskEnd, result: Result, own: Readonly<Record<string, string>>): void {
  const { nowMs, expiresMs } = seen;
  if (own["cache-control"] === undefined && own.expires === undefined) {
    const leftMs = Math.max(0, (expiresMs ?? nowMs) - nowMs);
    ctx.set("Expires", new Date(nowMs + leftMs).toUTCString());
    ctx.set("Cache-Control", `private, max-age=${Math.floor(leftMs / 1000)}`);
  }
  if (own.etag === undefined) ctx.set("ETag", madeTag(seen, result));
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
