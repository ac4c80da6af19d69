import rTracer from "cls-rtracer";
import type { Middleware } from "koa";
import { type IdSecret, requestIdOf } from "../headers/request-id.ts";
import { responseOf } from "../response.ts";
import { callerOf } from "../task/access.ts";

/**
 * Gives every request its correlation id: it is echoed as X-Request-Id, stands in every log line written meanwhile, and is
 * the id of the task where one is submitted. Not cls-rtracer's own middleware: that also binds every listener to the request's
 * streams, which costs as much again, and nothing here that listens to them asks for the id.
 */
export function correlate(secret: IdSecret): Middleware {
  return (ctx, next) => {
    // Validated: it goes into logs and headers.
    const id = requestIdOf(ctx.request, callerOf(ctx), secret);
    responseOf(ctx).addHeader("X-Request-Id", id);
    return rTracer.runWithId(next, id);
  };
}

/** The correlation id of the request that is being answered. */
export function currentId(): string {
  return String(rTracer.id());
}
