import { parseRedisUrl } from "../../config/redis-url.ts";
import type { Extension } from "../../extension.ts";
import { routeOf } from "../../http/route.ts";
import { packageVersion } from "../../version.ts";
import { openTracing, type ServerFacts } from "./tracing.ts";

/** Spans of requests and attempts, if an SDK of OpenTelemetry is registered in this process. */
export const telemetry: Extension = {
  start: ({ storeUrl }) => {
    const tracing = openTracing(packageVersion(), storeFacts(storeUrl));
    if (!tracing) return {};
    // Traces of requests that monitors repeat all the time would say nothing.
    return { tracing, around: (ctx, next) => (routeOf(ctx)?.polledBy ? next() : tracing.request(ctx, next)) };
  },
};

/** Where the tasks are sent to, without the login: of several nodes the first. */
function storeFacts(storeUrl: string): ServerFacts {
  const address = parseRedisUrl(storeUrl);
  if (address.kind === "socket") return { "server.address": address.path };
  const [first] =
    address.kind === "single" ? [address] : address.kind === "cluster" ? address.nodes : address.sentinels;
  return { "server.address": first?.host ?? "", ...(first && { "server.port": first.port }) };
}
