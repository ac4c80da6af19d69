import { createHash } from "node:crypto";
import type { Context } from "koa";
import { pathTo } from "../../http/route.ts";
import { signatureOf } from "../../http/task/access.ts";
import type { Group } from "../../wire/group.ts";
import { timestamp } from "../../wire/timestamp.ts";
import type { GroupInspection } from "./group-inspection.ts";
import { groupVersionOf } from "./watched-groups.ts";

/** The routes of a group's resources, as the router writes them. */
export const GROUP_PATHS = {
  group: "/v1/groups/:id",
  events: "/v1/groups/:id/events",
  results: "/v1/groups/:id/results",
} as const;

/** Paths of a group's resources. The query may be a signature, as for tasks. */
export const groupPaths = {
  group: pathTo(GROUP_PATHS.group),
  events: pathTo(GROUP_PATHS.events),
  results: pathTo(GROUP_PATHS.results),
};

/** The document of a group for the sender of a request. */
export function groupDocumentOf(ctx: Pick<Context, "state">, seen: GroupInspection): Group {
  return groupDocument(seen, signatureOf(ctx, seen, "group"));
}

/** The document of a group. @param signature the query of the links that read */
export function groupDocument(seen: GroupInspection, signature = ""): Group {
  const { id, queue, state, total, counts, index, eta, percent, cancelRequested } = seen;
  const links = [
    { rel: "self", href: groupPaths.group(id, signature), method: "GET" },
    { rel: "events", href: groupPaths.events(id, signature), method: "GET" },
    { rel: "results", href: groupPaths.results(id, signature), method: "GET" },
  ];
  if (!hasEnded(seen)) links.push({ rel: "cancel", href: groupPaths.group(id), method: "DELETE" });
  return {
    ...{ id, queue, state, total, ...counts, index, eta, progress: { percent }, cancelRequested },
    presentUntil: timestamp(seen.presentUntilMs),
    createdAt: timestamp(seen.createdMs),
    finishedAt: timestamp(seen.finishedMs),
    expiresAt: timestamp(seen.expiresMs),
    links,
  };
}

/** Whether it is done or canceled. */
export const hasEnded = ({ finishedMs }: Pick<GroupInspection, "finishedMs">): boolean => finishedMs !== null;

/** A short name for the state of a group without estimates, which watchers wait to change: the `id:` of its events, and, quoted, its ETag. */
export function groupVersion(seen: GroupInspection): string {
  return createHash("sha256").update(groupVersionOf(seen)).digest("base64url").slice(0, 16);
}
