import type { Context } from "koa";
import type { Inspection } from "../../engine/watch/inspect.ts";
import type { Link } from "../../wire/task.ts";
import { accessOf, type OwnedTask, signatureOf } from "../request/access.ts";
import { hostOf, prefixOf, type Sender, schemeOf } from "../request/forwarded.ts";
import { pathTo } from "../route.ts";

/** The routes of a task's resources, as the router writes them. */
export const TASK_PATHS = {
  result: "/v1/requests/:id",
  monitor: "/v1/requests/:id/status",
  events: "/v1/requests/:id/events",
  output: "/v1/requests/:id/output",
  again: "/v1/requests/:id/again",
  done: "/v1/requests/:id/done",
} as const;

/**
 * Paths of a task's resources on this server. Ids are safe in a path without encoding. The query may be a signature that lets anyone with the
 * link read the task, see `signatureOf`; links that do more than read never have one.
 */
const paths = {
  result: pathTo(TASK_PATHS.result),
  monitor: pathTo(TASK_PATHS.monitor),
  events: pathTo(TASK_PATHS.events),
  output: pathTo(TASK_PATHS.output),
  again: pathTo(TASK_PATHS.again),
  done: pathTo(TASK_PATHS.done),
};

/** The links to one task. */
export interface TaskLinks {
  readonly result: string;
  readonly monitor: string;
  readonly events: string;
  readonly output: string;
  /** To submit its input again: without a signature, as the next. */
  readonly again: string;
  /** To cancel: without a signature, since it does more than read. */
  readonly cancel: string;
}

/** @param signature the query of the links that read */
export function taskLinks(id: string, signature = "", prefix = ""): TaskLinks {
  return {
    result: prefix + paths.result(id, signature),
    monitor: prefix + paths.monitor(id, signature),
    events: prefix + paths.events(id, signature),
    output: prefix + paths.output(id, signature),
    again: prefix + paths.again(id),
    cancel: prefix + paths.result(id),
  };
}

/** The link to a result that gives the result itself to browsers, too. @param result the link to it */
export const rawLink = (result: string): string => `${result}${result.includes("?") ? "&" : "?"}raw=true`;

/** The links to a task for the sender of a request. */
export function linksFor(sender: Sender, task: OwnedTask): TaskLinks {
  return taskLinks(task.id, signatureOf(sender, task), prefixOf(sender));
}

/** The link that ends a turn, with a signature of its own: those of links that read end nothing. */
export function doneLink(sender: Sender, task: OwnedTask & Pick<Inspection, "fence">): Link {
  const signature = accessOf(sender).signer?.sign("turn", task).replace("?", "&") ?? "";
  const href = prefixOf(sender) + paths.done(task.id, `?turn=${task.fence}${signature}`);
  return { rel: "done", href, method: "POST" };
}

/** The links of a task that has not ended. */
export function pendingLinks(at: TaskLinks): Link[] {
  return [
    { rel: "self", href: at.result, method: "GET" },
    { rel: "monitor", href: at.monitor, method: "GET" },
    { rel: "events", href: at.events, method: "GET" },
    { rel: "cancel", href: at.cancel, method: "DELETE" },
  ];
}

/** The same links as JSON text: nothing in a path needs escaping. */
export function pendingLinksJson({ result, monitor, events, cancel }: TaskLinks): string {
  return `[{"rel":"self","href":"${result}","method":"GET"},{"rel":"monitor","href":"${monitor}","method":"GET"},{"rel":"events","href":"${events}","method":"GET"},{"rel":"cancel","href":"${cancel}","method":"DELETE"}]`;
}

/** The absolute form of a link, with the host that the client used: behind a trusted proxy, the forwarded one. It may be absolute already. */
export function absolute(ctx: Context, link: string): string {
  if (!link.startsWith("/")) return link;
  const host = hostOf(ctx);
  return host === "" ? link : `${schemeOf(ctx)}://${host}${link}`;
}
