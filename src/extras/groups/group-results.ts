import { beforeMember, PROBLEM_TYPE, resultJson } from "../../engine/tasks/result.ts";
import type { Inspection } from "../../engine/watch/inspect.ts";
import type { Api } from "../../http/api.ts";
import { type ProblemDocument, problemDocument, shownProblem } from "../../http/problems/problem.ts";
import { accessOf, keepsPresent } from "../../http/request/access.ts";
import type { Sender } from "../../http/request/forwarded.ts";
import { linksFor } from "../../http/task/links.ts";
import { outcomeProblem } from "../../http/task/reply.ts";
import { isOutcome } from "../../task.ts";
import type { GroupResult } from "../../wire/group.ts";
import { hasEnded } from "./group-document.ts";
import type { GroupWatchers } from "./group-events.ts";
import type { GroupInspection } from "./group-inspection.ts";
import { groupsOf } from "./groups.ts";
import type { Member } from "./verbs.ts";

/** How many members are read at a time with their results, each of which may have 64 KiB. */
const PAGE = 50;

/** Which results are read, and until when. */
interface ResultsParts {
  readonly ctx: Sender;
  readonly api: Pick<Api, "engine">;
  readonly group: GroupInspection;
  /** How many lines of the answer the caller has already. */
  readonly after: number;
  /** If given, waits for members that have not ended. */
  readonly watchers: GroupWatchers | undefined;
  /** Fires when nobody reads any more. */
  readonly gone: AbortSignal;
}

/**
 * The results of a group as lines of JSON: those of tasks that have ended, in the order in which they joined; with watchers, then each as it
 * ends, until all have. Further lines are read when the caller has taken the earlier ones.
 * @throws ProblemError store-unavailable
 */
export async function* groupResults(parts: ResultsParts): AsyncGenerator<string, void, void> {
  const { api, group, watchers } = parts;
  if (!watchers) return yield* joined(parts, Number.POSITIVE_INFINITY);
  // The same for all who follow, so that each can go on behind any line.
  const before = (await groupsOf(api.engine).follow(group.id, group.queue)) ?? 0;
  yield* joined(parts, before);
  yield* ended(parts, watchers, before);
}

/** The results of the members that were among the first to end, in the order in which they joined. */
async function* joined(parts: ResultsParts, ends: number): AsyncGenerator<string, void, void> {
  const { api, group, gone } = parts;
  let toSkip = parts.after;
  for (let from = 0; toSkip < ends && !gone.aborted; ) {
    const members = await groupsOf(api.engine).members(group.id, group.queue, { by: "line", from, count: PAGE });
    const wanted = members.filter(({ end }) => end !== null && end < ends);
    const text = await textOf(parts, wanted.slice(toSkip));
    toSkip = Math.max(0, toSkip - wanted.length);
    if (text !== "") yield text;
    if (members.length < PAGE) return;
    from = 1 + (members.at(-1)?.line ?? 0);
  }
}

/** The results of the other members, as they end. */
async function* ended(parts: ResultsParts, watchers: GroupWatchers, ends: number): AsyncGenerator<string, void, void> {
  const { api, group, gone } = parts;
  const watch = await watchers.watch(group, { keeps: keepsPresent(accessOf(parts.ctx), group) });
  gone.addEventListener("abort", watch.stop);
  try {
    for (let from = Math.max(ends, parts.after); !gone.aborted; ) {
      // As of before reading: what happens afterwards is read in another round.
      const { seen } = watch;
      const isOver = seen?.createdMs !== group.createdMs || hasEnded(seen);
      const members = await groupsOf(api.engine).members(group.id, group.queue, { by: "end", from, count: PAGE });
      const text = await textOf(parts, members);
      if (text !== "") yield text;
      from = 1 + (members.at(-1)?.end ?? from - 1);
      if (members.length === PAGE) continue;
      if (isOver || !(await watch.next())) return;
    }
  } finally {
    watch.stop();
  }
}

async function textOf(parts: ResultsParts, members: readonly Member[]): Promise<string> {
  return (await Promise.all(members.map((member) => lineOf(parts, member)))).join("");
}

/** The line of a member; "" for one that has not ended. */
async function lineOf({ ctx, api, group }: ResultsParts, member: Member): Promise<string> {
  const { id, line, state } = member;
  if (state === null || !isOutcome(state)) return "";
  // Once its record has expired, its id may be used again, also by another caller.
  const isMember = (seen: Inspection) => seen.group === group.id && seen.caller === group.caller;
  const read = await api.engine.inspector.inspect(id, { result: true, inPieces: true, allowed: isMember });
  const seen = read && isMember(read) ? read : null;
  if (seen && !isOutcome(seen.state)) return "";
  const document = seen ? endOf(ctx, line, seen) : goneOf(ctx, { id, line, state });
  const { result } = seen ?? {};
  const json = result && !result.rest && document.problem === undefined ? resultJson(result) : undefined;
  if (json === undefined) return `${JSON.stringify(document)}\n`;
  const { href: _, ...rest } = document;
  return `${beforeMember(JSON.stringify(rest), "data")}${json.replace(/[\r\n]+/g, " ")}}\n`;
}

/** The line of a task with its address in place of a result. */
function endOf(ctx: Sender, line: number, seen: Inspection): GroupResult {
  const { id, state, result } = seen;
  const problem = outcomeProblem(ctx, seen);
  if (problem) {
    const { status, document } = problem;
    return { line, id, state, status, contentType: PROBLEM_TYPE, problem: document as ProblemDocument };
  }
  const href = linksFor(ctx, seen).result;
  return { line, id, state, status: result?.status ?? 200, contentType: result?.contentType ?? null, href };
}

/** The line of a task whose record has expired before the group. */
function goneOf(ctx: Sender, { id, line, state }: Pick<GroupResult, "id" | "line" | "state">): GroupResult {
  const problem = shownProblem(ctx, problemDocument("expired", undefined, { id, state }));
  return { line, id, state, status: problem.status, contentType: PROBLEM_TYPE, problem };
}
