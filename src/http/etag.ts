import { createHash } from "node:crypto";
import type { Inspection } from "../engine/inspect.ts";
import { versionOf } from "../engine/version.ts";
import { splitField, trimField } from "./fields.ts";

/** A short name of a task's version: the `id:` of its events, and within quotes its ETag. */
export function versionId(seen: Inspection): string {
  return createHash("sha256").update(versionOf(seen)).digest("base64url").slice(0, 16);
}

/** The strong ETag (RFC 9110 §8.8.3) of a task's monitor document, over what its watchers wait to see change. */
export function versionTag(seen: Inspection): string {
  return `"${versionId(seen)}"`;
}

/**
 * Whether an If-None-Match names this version: one of a list, compared weakly, or `*`, which any version there is matches
 * (RFC 9110 §13.1.2).
 */
export function namesVersion(ifNoneMatch: string, tag: string): boolean {
  return (
    isAny(ifNoneMatch) || splitField(ifNoneMatch, ",").some((entry) => trimField(entry).replace(/^W\//, "") === tag)
  );
}

/** Whether an If-None-Match is `*`. */
export function isAny(ifNoneMatch: string): boolean {
  return trimField(ifNoneMatch) === "*";
}
