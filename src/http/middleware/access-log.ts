import type { Middleware } from "koa";
import type { Logger } from "../../log.ts";
import type { Metrics } from "../../metrics/metrics.ts";
import { routeOf } from "../route.ts";
import { callerOf } from "../task/access.ts";

/**
 * Counts each request when its answer begins, and logs it at level info: method, path, status, milliseconds and the name of the API key;
 * the line also has the correlation id, as all do. The query is not logged, since it may contain a signature.
 */
export function accessLog(log: Logger, metrics: Metrics): Middleware {
  const logged = log.isLevelEnabled("info");
  return (ctx, next) => {
    const started = performance.now();
    return next().then(() => {
      const ms = performance.now() - started;
      const route = routeOf(ctx);
      const { status } = ctx;
      metrics.requests.observe(ms, ctx.method, route?.path ?? "", String(status));
      if (!route?.polledBy) metrics.countAnswer(status);
      if (!logged) return;
      const caller = callerOf(ctx);
      const { method, path } = ctx;
      log.info({ method, path, status, ms: Math.round(ms * 10) / 10, ...(caller !== null && { caller }) }, "request");
    });
  };
}
