import type { Middleware } from "koa";
import type { Logger } from "../../log.ts";

/** One line a request, at level info: method, path, status, milliseconds; the correlation id is in it as in every line. */
export function accessLog(log: Logger): Middleware {
  return async (ctx, next) => {
    if (!log.isLevelEnabled("info")) return next();
    const started = performance.now();
    await next();
    const ms = Math.round((performance.now() - started) * 10) / 10;
    log.info({ method: ctx.method, path: ctx.path, status: ctx.status, ms }, "request");
  };
}
