import type { Middleware } from "koa";
import { schemeOf } from "../../http/headers/forwarded.ts";
import { routeOf } from "../../http/route.ts";
import { traceOf } from "../../trace/trace-context.ts";
import type { ServerTracing } from "./tracing.ts";

/** Longest user agent that is kept, characters. */
const AGENT_LENGTH = 256;

/** Answers each request in a span. The query is left out: it may contain a signature. */
export function traceRequests(tracing: ServerTracing): Middleware {
  return (ctx, next) => {
    const { method, path } = ctx;
    const scheme = schemeOf(ctx);
    // Traces of these would say nothing.
    if (routeOf(ctx)?.polledBy) return next();
    const userAgent = ctx.headers["user-agent"]?.slice(0, AGENT_LENGTH);
    const port = Number(/:(\d+)$/.exec(ctx.host)?.[1] ?? (scheme === "https" ? 443 : 80));
    const request = { method, path, scheme, address: ctx.hostname, port, userAgent, trace: traceOf(ctx.headers) };
    return tracing.request(request, next, () => ({ route: routeOf(ctx)?.path ?? "", status: ctx.res.statusCode }));
  };
}
