import { createHash } from "node:crypto";
import { type OwnedTask, signatureOf } from "../../http/request/access.ts";
import { prefixOf, type Sender } from "../../http/request/forwarded.ts";
import { pathTo } from "../../http/route.ts";
import { timestamp } from "../../wire/document.ts";
import type { Group } from "../../wire/group.ts";
import { type GroupInspection, groupVersionOf } from "./group-inspection.ts";

/** The routes of a group's resources, as the router writes them. */
export const GROUP_PATHS = {
  group: "/v1/groups/:id",
  events: "/v1/groups/:id/events",
  results: "/v1/groups/:id/results",
} as const;

/** Paths of a group's resources on this server. The query may be a signature, as for tasks. */
const paths = {
  group: pathTo(GROUP_PATHS.group),
  events: pathTo(GROUP_PATHS.events),
  results: pathTo(GROUP_PATHS.results),
};

/** The links to one group. */
interface GroupLinks {
  readonly group: string;
  readonly events: string;
  readonly results: string;
  readonly cancel: string;
}

/** @param signature the query of the links that read */
export function groupLinks(id: string, signature = "", prefix = ""): GroupLinks {
  return {
    group: prefix + paths.group(id, signature),
    events: prefix + paths.events(id, signature),
    results: prefix + paths.results(id, signature),
    cancel: prefix + paths.group(id),
  };
}

/** The links to a group for the sender of a request. */
export function groupLinksFor(sender: Sender, group: OwnedTask): GroupLinks {
  return groupLinks(group.id, signatureOf(sender, group, "group"), prefixOf(sender));
}

/** The document of a group for the sender of a request. */
export function groupDocumentOf(sender: Sender, seen: GroupInspection): Group {
  return groupDocument(seen, groupLinksFor(sender, seen));
}

/** The document of a group. */
export function groupDocument(seen: GroupInspection, at: GroupLinks = groupLinks(seen.id)): Group {
  const { id, queue, state, total, counts, index, eta, percent, cancelRequested } = seen;
  const links = [
    { rel: "self", href: at.group, method: "GET" },
    { rel: "events", href: at.events, method: "GET" },
    { rel: "results", href: at.results, method: "GET" },
  ];
  if (!hasEnded(seen)) links.push({ rel: "cancel", href: at.cancel, method: "DELETE" });
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
