import type { Context } from "koa";
import type { Inspection } from "../../engine/watch/inspect.ts";
import { ProblemError } from "../../errors.ts";
import { isAny, namesVersion, tagsOf, versionTag } from "../request/etag.ts";
import { resultTag } from "./reply-result.ts";

/** The preconditions of a PUT or DELETE (RFC 9110 §13.1); "" for an absent one. */
export interface Preconditions {
  readonly ifMatch: string;
  readonly ifNoneMatch: string;
}

/** Reads the preconditions of a request; undefined if there are none, which is the usual case. */
export function readPreconditions(ctx: Context): Preconditions | undefined {
  const { "if-match": ifMatch = "", "if-none-match": ifNoneMatch = "" } = ctx.req.headers;
  return ifMatch === "" && ifNoneMatch === "" ? undefined : { ifMatch, ifNoneMatch };
}

/** Whether the request may only create a task, which the store itself can check without a race. */
export function onlyCreates({ ifMatch, ifNoneMatch }: Preconditions): boolean {
  return ifMatch === "" && isAny(ifNoneMatch);
}

/**
 * Checks the preconditions against a task, If-Match first (§13.2.2). A task has two tags: that of its monitor, and once it has
 * succeeded that of its result. If-Match requires a strong tag, but the monitor's weak one is accepted as it was given: it
 * identifies the version of the task, without counts and estimates. `If-Match: *` requires a task that still exists.
 * @param seen with its result; null: the task does not exist
 * @throws ProblemError precondition-failed
 */
export function checkPreconditions(id: string, { ifMatch, ifNoneMatch }: Preconditions, seen: Inspection | null): void {
  const tags = seen ? currentTags(seen) : [];
  if (ifMatch !== "") {
    const there = isAny(ifMatch)
      ? tags.length > 0
      : tagsOf(ifMatch).some((tag) => tags.includes(tag) && !isWeakResult(tag, seen));
    if (!there) throw preconditionFailed(id, "If-Match: the task does not exist, or has another version.");
  }
  if (ifNoneMatch === "" || seen === null) return;
  if (isAny(ifNoneMatch)) throw preconditionFailed(id, "If-None-Match: the id is taken.");
  if (tags.some((tag) => namesVersion(ifNoneMatch, tag))) {
    throw preconditionFailed(id, "If-None-Match: the task still has this version.");
  }
}

/**
 * Checks the preconditions against the one tag of something else; null if that does not exist.
 * @throws ProblemError precondition-failed
 */
export function checkTag(id: string, { ifMatch, ifNoneMatch }: Preconditions, tag: string | null): void {
  if (ifMatch !== "" && (tag === null || !(isAny(ifMatch) || tagsOf(ifMatch).includes(tag))))
    throw preconditionFailed(id, "If-Match: it does not exist, or has another version.");
  if (ifNoneMatch !== "" && tag !== null && namesVersion(ifNoneMatch, tag))
    throw preconditionFailed(id, "If-None-Match: it still has this version.");
}

/** The current tags of a task; none if only a tombstone is left. */
function currentTags(seen: Inspection): string[] {
  if (seen.deleted || seen.expired || seen.state === "canceled") return [];
  const monitor = versionTag(seen);
  return seen.state === "succeeded" && seen.result ? [monitor, resultTag(seen, seen.result)] : [monitor];
}

/** A weak tag that a handler gave its result never matches strongly, not even itself (§8.8.3.2). */
function isWeakResult(tag: string, seen: Inspection | null): boolean {
  return tag.startsWith("W/") && (seen === null || tag !== versionTag(seen));
}

/** The error for a failed precondition. */
export function preconditionFailed(id: string, detail: string): ProblemError {
  return new ProblemError("precondition-failed", detail, { extensions: { id } });
}
