import type { Context } from "koa";
import { PROBLEM_TYPE } from "../../engine/attempt/problem.ts";
import type { GroupInspection } from "../../engine/groups/group-inspection.ts";
import type { Inspection } from "../../engine/reading/inspect.ts";
import { beforeMember, resultJson } from "../../engine/reading/result-json.ts";
import type { GroupWatchers } from "../../engine/watching/group-watchers.ts";
import type { Member } from "../../store/verbs/scripts.ts";
import { isOutcome } from "../../task.ts";
import type { GroupResult } from "../../wire/group.ts";
import type { Api } from "../api.ts";
import { type ProblemDocument, problemDocument } from "../problems/problem.ts";
import { signatureOf } from "../task/access.ts";
import { paths } from "../task/links.ts";
import { outcomeProblem } from "../task/reply.ts";

/** How many members are read at a time with their results, each of which may have 64 KiB. */
const PAGE = 50;

/** Which results are read, and until when. */
interface ResultsParts {
  readonly ctx: Pick<Context, "state">;
  readonly api: Pick<Api, "engine">;
  readonly group: GroupInspection;
  /** If given, waits for members that have not ended. */
  readonly watchers: GroupWatchers | undefined;
  /** Fires when nobody reads any more. */
  readonly gone: AbortSignal;
}

/**
 * The results of a group as lines of JSON, in the order in which its tasks joined. Without watchers, those of tasks that have ended; with
 * watchers, each when its task and all before it have ended. Further lines are read when the caller has taken the earlier ones.
 * @throws ProblemError store-unavailable
 */
export async function* groupResults(parts: ResultsParts): AsyncGenerator<string, void, void> {
  const { api, group, watchers, gone } = parts;
  let latest: GroupInspection | null = group;
  let wake: () => void = () => undefined;
  /** Something has happened since the members were read. */
  let changed = false;
  const note = () => {
    changed = true;
    wake();
  };
  gone.addEventListener("abort", note);
  const watched = await watchers?.watch(group.id, (seen) => {
    latest = seen?.createdMs === group.createdMs ? seen : null;
    note();
  });
  try {
    for (let from = 0; !gone.aborted; ) {
      changed = false;
      const { members, total } = await api.engine.groups.members(group.id, from, PAGE);
      const pending = watched ? members.findIndex((member) => member && !isOutcome(member.state)) : -1;
      const some = pending < 0 ? members : members.slice(0, pending);
      const text = (await Promise.all(some.map((member) => lineOf(parts, member)))).join("");
      from += some.length;
      if (text !== "") yield text;
      if (pending < 0 && from < total) continue;
      if (!watched || isOver(latest, from)) return;
      if (changed) continue;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  } finally {
    watched?.stop();
  }
}

/** Whether a group has no more members than were sent, and gets no more. */
function isOver(seen: GroupInspection | null, sent: number): boolean {
  return seen === null || (seen.state !== "open" && sent >= seen.total);
}

/** The line of a member; "" for one that has not ended. */
async function lineOf({ ctx, api, group }: ResultsParts, member: Member | null): Promise<string> {
  if (!member || !isOutcome(member.state)) return "";
  const { id, line } = member;
  // Once its record has expired, its id may be used again, also by another caller.
  const isMember = (seen: Inspection) => seen.group === group.id && seen.caller === group.caller;
  const read = await api.engine.tasks.inspect(id, { result: true, inPieces: true, allowed: isMember });
  const seen = read && isMember(read) ? read : null;
  if (seen && !isOutcome(seen.state)) return "";
  const document = seen ? endOf(ctx, line, seen) : goneOf(member);
  const { result } = seen ?? {};
  const json = result && !result.rest && document.problem === undefined ? resultJson(result) : undefined;
  if (json === undefined) return `${JSON.stringify(document)}\n`;
  const { href: _, ...rest } = document;
  return `${beforeMember(JSON.stringify(rest), "data")}${json.replace(/[\r\n]+/g, " ")}}\n`;
}

/** The line of a task with its address in place of a result. */
function endOf(ctx: Pick<Context, "state">, line: number, seen: Inspection): GroupResult {
  const { id, state, result } = seen;
  const problem = outcomeProblem(seen);
  if (problem) {
    const { status, document } = problem;
    return { line, id, state, status, contentType: PROBLEM_TYPE, problem: document as ProblemDocument };
  }
  const href = paths.result(id, signatureOf(ctx, seen));
  return { line, id, state, status: result?.status ?? 200, contentType: result?.contentType ?? null, href };
}

/** The line of a task whose record has expired before the group. */
function goneOf({ id, line, state }: Member): GroupResult {
  const problem = problemDocument("expired", undefined, { id, state });
  return { line, id, state, status: problem.status, contentType: PROBLEM_TYPE, problem };
}
