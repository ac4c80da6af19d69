import { createHash } from "node:crypto";
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
