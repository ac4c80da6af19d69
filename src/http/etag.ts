import { createHash } from "node:crypto";
import type { Inspection } from "../engine/inspect.ts";

/**
 * The version of a task as its watchers see it: a strong ETag (RFC 9110 §8.8.3) over state, index, attempt, cancel request
 * and reported progress. Estimates and counts change all the time and are not in it.
 */
export function versionTag(seen: Inspection): string {
  const { state, index, attempts, cancelRequested, progress, destroyed, expired } = seen;
  const parts = JSON.stringify([state, index, attempts, cancelRequested, progress, destroyed, expired]);
  return `"${createHash("sha256").update(parts).digest("base64url").slice(0, 16)}"`;
}
