import type { Context, Middleware } from "koa";
import { traceOf } from "../../telemetry/trace-context.ts";
import type { Tracing } from "../../telemetry/tracing.ts";
import { schemeOf } from "../headers/forwarded.ts";
import { routeOf } from "../route.ts";

/** Longest user agent that is kept, characters. */
const AGENT_LENGTH = 256;

/** Answers each request in a span. The query is left out: it may contain a signature. */
export function traceRequests(tracing: Tracing): Middleware {
  return (ctx, next) => {
    ctx.state.tracing = tracing;
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

/** What traces a request; undefined if nothing does. */
export function tracingOf(ctx: Context): Tracing | undefined {
  return ctx.state.tracing;
}
