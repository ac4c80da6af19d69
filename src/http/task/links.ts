import type { Context } from "koa";
import type { Link } from "../../wire/task.ts";
import { hostOf, schemeOf } from "../headers/forwarded.ts";
import { pathTo } from "../route.ts";

/** The routes of a task's resources, as the router writes them. */
export const TASK_PATHS = {
  result: "/v1/requests/:id",
  monitor: "/v1/requests/:id/status",
  events: "/v1/requests/:id/events",
  output: "/v1/requests/:id/output",
  again: "/v1/requests/:id/again",
} as const;

/**
 * Paths of a task's resources. Ids are safe in a path without encoding. The query may be a signature that lets anyone with the
 * link read the task, see `signatureOf`; links that do more than read never have one.
 */
export const paths = {
  result: pathTo(TASK_PATHS.result),
  monitor: pathTo(TASK_PATHS.monitor),
  events: pathTo(TASK_PATHS.events),
  output: pathTo(TASK_PATHS.output),
  again: pathTo(TASK_PATHS.again),
};

/** The paths of one task. */
export interface TaskPaths {
  readonly result: string;
  readonly monitor: string;
  readonly events: string;
  /** To cancel: without a signature, since it does more than read. */
  readonly cancel: string;
}

/** @param signature the query of the links that read */
export function taskPaths(id: string, signature: string): TaskPaths {
  return {
    result: paths.result(id, signature),
    monitor: paths.monitor(id, signature),
    events: paths.events(id, signature),
    cancel: paths.result(id),
  };
}

/** The links of a task that has not ended. */
export function pendingLinks(id: string, signature = ""): Link[] {
  const at = taskPaths(id, signature);
  return [
    { rel: "self", href: at.result, method: "GET" },
    { rel: "monitor", href: at.monitor, method: "GET" },
    { rel: "events", href: at.events, method: "GET" },
    { rel: "cancel", href: at.cancel, method: "DELETE" },
  ];
}

/** The same links as JSON text: nothing in a path needs escaping. */
export function pendingLinksJson({ result, monitor, events, cancel }: TaskPaths): string {
  return `[{"rel":"self","href":"${result}","method":"GET"},{"rel":"monitor","href":"${monitor}","method":"GET"},{"rel":"events","href":"${events}","method":"GET"},{"rel":"cancel","href":"${cancel}","method":"DELETE"}]`;
}

/** The absolute form of a path, with the host that the client used: behind a trusted proxy, the forwarded one. */
export function absolute(ctx: Context, path: string): string {
  const host = hostOf(ctx);
  return host === "" ? path : `${schemeOf(ctx)}://${host}${path}`;
}
