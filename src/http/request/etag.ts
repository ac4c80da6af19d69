import { createHash } from "node:crypto";
import type { Context } from "koa";
import type { Inspection } from "../../engine/watch/inspect.ts";
import { versionOf } from "../../engine/watch/watch.ts";
import { splitField, trimField } from "../../wire/request.ts";

/** A short name for the version of a task: the `id:` of its events, and, quoted, its ETag. */
export function versionId(seen: Inspection): string {
  return createHash("sha256").update(versionOf(seen)).digest("base64url").slice(0, 16);
}

/**
 * The ETag of a task's monitor document, from the members whose changes watchers wait for. It is weak (RFC 9110 §8.8.3), since
 * the counts and estimates of the document change without it.
 */
export function versionTag(seen: Inspection): string {
  return `W/"${versionId(seen)}"`;
}

/**
 * Whether an If-None-Match matches this version: by a tag of its list, compared weakly, or by `*`, which matches any version
 * (RFC 9110 §13.1.2).
 */
export function namesVersion(ifNoneMatch: string, tag: string): boolean {
  return isAny(ifNoneMatch) || tagsOf(ifNoneMatch).some((entry) => opaque(entry) === opaque(tag));
}

/** Whether a condition is `*`. */
export function isAny(condition: string): boolean {
  return trimField(condition) === "*";
}

/** The tags in the list of a condition, as sent. */
export function tagsOf(condition: string): string[] {
  return splitField(condition, ",").map(trimField);
}

/** A tag without `W/`, for weak comparison (RFC 9110 §8.8.3.2). */
function opaque(tag: string): string {
  return tag.startsWith("W/") ? tag.slice(2) : tag;
}

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
