import type { Inspection } from "./inspect.ts";

/** The members that a version covers. */
type VersionFields = Pick<
  Inspection,
  "state" | "index" | "attempts" | "revision" | "cancelRequested" | "progress" | "deleted" | "expired"
>;

/**
 * The version of a task as its watchers see it: state, place, attempt, replaced input, cancel request and reported progress, in one string.
 * Estimates and counts change all the time and are not in it.
 */
export function versionOf(seen: VersionFields): string {
  const { state, index, attempts, revision, cancelRequested, progress, deleted, expired } = seen;
  return JSON.stringify([state, index, attempts, revision, cancelRequested, progress, deleted, expired]);
}
