import type { Context } from "koa";
import type { Inspection } from "../../engine/inspect.ts";
import { PaihaoError } from "../../errors.ts";
import { resultTag } from "../task/reply-result.ts";
import { isAny, namesVersion, tagsOf, versionTag } from "./etag.ts";

/** What a PUT or DELETE asks of the task as it is (RFC 9110 §13.1); "" where it asks nothing. */
export interface Preconditions {
  readonly ifMatch: string;
  readonly ifNoneMatch: string;
}

/** Reads the conditions of a request; undefined where there are none, as nearly always. */
export function readPreconditions(ctx: Context): Preconditions | undefined {
  const { "if-match": ifMatch = "", "if-none-match": ifNoneMatch = "" } = ctx.req.headers;
  return ifMatch === "" && ifNoneMatch === "" ? undefined : { ifMatch, ifNoneMatch };
}

/** Whether a task is only to be made: what the store itself can decide, with no look before that another could overtake. */
export function onlyCreates({ ifMatch, ifNoneMatch }: Preconditions): boolean {
  return ifMatch === "" && isAny(ifNoneMatch);
}

/**
 * Holds the conditions against a task, If-Match first (§13.2.2). A task has two tags: that of its monitor, and once it has
 * succeeded that of its result. If-Match wants a strong one, and takes the monitor's all the same, as it was given: it names the
 * version of the task, which counts and estimates are no part of. `If-Match: *` wants a task that has not come to nothing.
 * @param seen with its result; null: there is no such task
 * @throws PaihaoError precondition-failed
 */
export function checkPreconditions(id: string, { ifMatch, ifNoneMatch }: Preconditions, seen: Inspection | null): void {
  const tags = seen ? currentTags(seen) : [];
  if (ifMatch !== "") {
    const there = isAny(ifMatch)
      ? tags.length > 0
      : tagsOf(ifMatch).some((tag) => tags.includes(tag) && !isWeakResult(tag, seen));
    if (!there) throw preconditionFailed(id, "If-Match: the task is not there, or is of another version.");
  }
  if (ifNoneMatch === "" || seen === null) return;
  if (isAny(ifNoneMatch)) throw preconditionFailed(id, "If-None-Match: the id is taken.");
  if (tags.some((tag) => namesVersion(ifNoneMatch, tag))) {
    throw preconditionFailed(id, "If-None-Match: the task is still of this version.");
  }
}

/** The tags by which a task is known; none of one that came to nothing, of which only a tombstone is left. */
function currentTags(seen: Inspection): string[] {
  if (seen.destroyed || seen.expired || seen.state === "canceled") return [];
  const monitor = versionTag(seen);
  return seen.state === "succeeded" && seen.result ? [monitor, resultTag(seen, seen.result)] : [monitor];
}

/** A weak tag that a handler gave its result equals nothing, not even itself (§8.8.3.2). */
function isWeakResult(tag: string, seen: Inspection | null): boolean {
  return tag.startsWith("W/") && (seen === null || tag !== versionTag(seen));
}

/** The error of a condition that does not hold. */
export function preconditionFailed(id: string, detail: string): PaihaoError {
  return new PaihaoError("precondition-failed", detail, { extensions: { id } });
}
