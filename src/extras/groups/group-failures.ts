import type { Context } from "koa";
import type { Api } from "../../http/api.ts";
import { accessOf, mayRead } from "../../http/request/access.ts";
import { linksFor } from "../../http/task/links.ts";
import { errorOf } from "../../http/task/task-document.ts";
import type { GroupInspection } from "./group-inspection.ts";
import { groupsOf } from "./groups.ts";
import type { Member } from "./verbs.ts";

/** How many failures are told. */
const MAX = 20;
/** How many members are looked at in one call. */
const PAGE = 500;

/** A member that has failed. */
export interface Failure {
  /** Its label, else its id. */
  readonly name: string;
  /** The address of its page; "" if the reader may not see it: a link to a group opens none of its tasks. */
  readonly href: string;
  readonly reason: string;
}

/** The members of a group that have failed, each with its reason: the first of them in the order in which they joined. */
export async function failuresOf(ctx: Context, api: Api, group: GroupInspection): Promise<Failure[]> {
  const failed: Member[] = [];
  for (let from = 0; failed.length < Math.min(MAX, group.counts.failed); ) {
    const members = await groupsOf(api.engine).members(group.id, group.queue, { by: "line", from, count: PAGE });
    failed.push(...members.filter(({ state }) => state === "failed"));
    if (members.length < PAGE) break;
    from = 1 + (members.at(-1)?.line ?? 0);
  }
  return Promise.all(failed.slice(0, MAX).map(({ id }) => failureOf(ctx, api, group, id)));
}

async function failureOf(ctx: Context, api: Api, group: GroupInspection, id: string): Promise<Failure> {
  const seen = await api.engine.inspector.inspect(id, { result: true });
  // Once its record has expired, its id may be used again, also by another caller.
  if (seen?.group !== group.id || seen.caller !== group.caller)
    return { name: id, href: "", reason: "It has expired." };
  const href = mayRead(accessOf(ctx), seen) ? linksFor(ctx, seen).monitor : "";
  return { name: seen.label ?? id, href, reason: errorOf(seen)?.message ?? "It runs again." };
}
