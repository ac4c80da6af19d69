import type { Context } from "koa";
import { pathTo } from "../routes.ts";

/** A link as PayPal's APIs give it. */
export interface Link {
  readonly rel: string;
  readonly href: string;
  readonly method: string;
}

/**
 * Paths of a task's resources. Ids are safe in a path as they are. The query may be the one that lets whoever has the link
 * read the task, see `signatureOf`; what does more than read is never given one.
 */
export const paths = { result: pathTo("collect"), monitor: pathTo("watch"), events: pathTo("follow") };

/** The links of a task that can still be waited for and canceled. */
export function pendingLinks(id: string, signature = ""): Link[] {
  return [
    { rel: "self", href: paths.result(id, signature), method: "GET" },
    { rel: "monitor", href: paths.monitor(id, signature), method: "GET" },
    { rel: "events", href: paths.events(id, signature), method: "GET" },
    { rel: "cancel", href: paths.result(id), method: "DELETE" },
  ];
}

/** The same links as JSON, written as text: nothing in a path has to be escaped. */
export function pendingLinksJson(id: string, signature: string): string {
  const links = pendingLinks(id, signature).map(
    ({ rel, href, method }) => `{"rel":"${rel}","href":"${href}","method":"${method}"}`,
  );
  return `[${links.join(",")}]`;
}

/** The absolute form of a path, as the client reached this server: behind a trusted proxy, by what that forwarded. */
export function absolute(ctx: Context, path: string): string {
  const { host } = ctx;
  return host === "" ? path : `${ctx.protocol}://${host}${path}`;
}
