import type { ServerResponse } from "node:http";
import type { Context, Middleware } from "koa";

/**
 * Sets the headers of every answer.
 * @param stopping aborted when the server stops: an answer after that ends its connection, or a busy one could delay the stop forever
 */
export function respond(stopping: AbortSignal): Middleware {
  return (ctx, next) => {
    // Browsers must not guess the type of an answer.
    ctx.set("X-Content-Type-Options", "nosniff");
    // Routes whose answers caches may keep say so.
    ctx.set("Cache-Control", "no-store");
    const closeIfStopping = () => {
      if (stopping.aborted) ctx.set("Connection", "close");
    };
    closeIfStopping();
    return next().then(closeIfStopping);
  };
}

/** Leaves the answer to the calling code, which writes head and body. */
export function handOver(ctx: Context): ServerResponse {
  ctx.respond = false;
  return ctx.res;
}
