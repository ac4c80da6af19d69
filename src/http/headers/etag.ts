import { createHash } from "node:crypto";
import type { Inspection } from "../../engine/inspect.ts";
import { versionOf } from "../../engine/watching/version.ts";
import { splitField, trimField } from "./fields.ts";

/** A short name of a task's version: the `id:` of its events, and within quotes its ETag. */
export function versionId(seen: Inspection): string {
  return createHash("sha256").update(versionOf(seen)).digest("base64url").slice(0, 16);
}

/**
 * The ETag of a task's monitor document, over what its watchers wait to see change. A weak one (RFC 9110 §8.8.3): counts and
 * estimates are in the document too, and change under it.
 */
export function versionTag(seen: Inspection): string {
  return `W/"${versionId(seen)}"`;
}

/**
 * Whether an If-None-Match names this version: one of a list, compared weakly, or `*`, which any version there is matches
 * (RFC 9110 §13.1.2).
 */
export function namesVersion(ifNoneMatch: string, tag: string): boolean {
  return isAny(ifNoneMatch) || tagsOf(ifNoneMatch).some((entry) => opaque(entry) === opaque(tag));
}

/** Whether a condition is `*`. */
export function isAny(condition: string): boolean {
  return trimField(condition) === "*";
}

/** The tags that a condition lists, as they were sent. */
export function tagsOf(condition: string): string[] {
  return splitField(condition, ",").map(trimField);
}

/** A tag without the mark of a weak one: all that weak comparison looks at (RFC 9110 §8.8.3.2). */
function opaque(tag: string): string {
  return tag.startsWith("W/") ? tag.slice(2) : tag;
}
