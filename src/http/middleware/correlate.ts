import type { Middleware } from "koa";
import { scope, withRequestId } from "../../log.ts";
import type { Keys } from "../../store/keys.ts";
import { type IdSecret, requestIdOf } from "../headers/request-id.ts";
import { callerOf } from "../task/access.ts";
import { stoppedBy } from "./checks.ts";

/**
 * Gives every request its correlation id: it is echoed as X-Request-Id, added to every log line of the request, and is
 * the id of the task if one is submitted. Does not use cls-rtracer's own middleware: it also binds every listener of the
 * request's streams, which doubles the cost, and no such listener here needs the id.
 */
export function correlate(secret: IdSecret, keys: Keys): Middleware {
  return (ctx, next) => {
    // The id of a refused request does not depend on its caller: otherwise it would reveal whether a key is valid.
    const caller = stoppedBy(ctx) === undefined ? callerOf(ctx) : null;
    // Validated, since it is written to logs and headers.
    const id = requestIdOf(ctx, caller, secret, keys);
    ctx.set("X-Request-Id", id);
    return withRequestId(id, next);
  };
}

/** The correlation id of the current request. */
export function currentId(): string {
  return String(scope()?.requestId);
}
