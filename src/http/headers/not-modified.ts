import type { Context } from "koa";
import { namesVersion } from "./etag.ts";

/**
 * Turns an answer into a 304 if the caller has its version. Koa's `fresh` says no wherever the request has `Cache-Control: no-cache`, which
 * fetch adds to every condition that a program sets; but that only forbids caches to answer by themselves (RFC 9111 §5.2.1.4).
 */
export function replyIfNotModified(ctx: Context): void {
  if ((ctx.method !== "GET" && ctx.method !== "HEAD") || ctx.status < 200 || ctx.status > 299 || !isKnown(ctx)) return;
  ctx.status = 304;
  ctx.body = null;
}

/** Whether a request is to be answered only if its caller lacks the version. */
export function isConditional({ headers }: Context): boolean {
  return headers["if-none-match"] !== undefined || headers["if-modified-since"] !== undefined;
}

/** Whether the condition of a request names the version that its answer has; If-None-Match first (RFC 9110 §13.2.2). */
function isKnown(ctx: Context): boolean {
  const condition = ctx.get("If-None-Match");
  if (condition !== "") return namesVersion(condition, ctx.response.get("ETag"));
  return Date.parse(ctx.response.get("Last-Modified")) <= Date.parse(ctx.get("If-Modified-Since"));
}
