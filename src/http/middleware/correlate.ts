import rTracer from "cls-rtracer";
import type { Middleware, Request } from "koa";
import { callerOf } from "../access.ts";
import { requestIdOf } from "../request-id.ts";

/**
 * Gives every request its correlation id: it is echoed as X-Request-Id, stands in every log line written meanwhile, and is
 * the id of the task where one is submitted.
 */
export function correlate(): Middleware {
  const middleware = rTracer.koaMiddleware({
    // Never useHeader: it would take any value that a caller sends into logs and headers.
    requestIdFactory: (request: unknown) => requestIdOf(request as Request, callerOf((request as Request).ctx)),
    echoHeader: true,
  });
  // Its types were written for Koa 2, where a context could be told from less.
  return middleware as unknown as Middleware;
}

/** The correlation id of the request that is being answered. */
export function currentId(): string {
  return String(rTracer.id());
}
