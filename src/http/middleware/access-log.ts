import type { Middleware } from "koa";
import type { Logger } from "../../log.ts";
import { callerOf } from "../task/access.ts";

/**
 * Logs each request at level info: method, path, status, milliseconds and the name of the key; like every line it has the
 * correlation id. The query is not logged: it may contain a signature.
 */
export function accessLog(log: Logger): Middleware {
  if (!log.isLevelEnabled("info")) return (_, next) => next();
  return (ctx, next) => {
    const started = performance.now();
    return next().then(() => {
      const ms = Math.round((performance.now() - started) * 10) / 10;
      const caller = callerOf(ctx);
      log.info(
        { method: ctx.method, path: ctx.path, status: ctx.status, ms, ...(caller !== null && { caller }) },
        "request",
      );
    });
  };
}
