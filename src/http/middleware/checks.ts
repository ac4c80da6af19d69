import type { Context, Middleware } from "koa";

/** A check of a request before its route. Throws to refuse the request; returns true if it has answered it. */
export type Check = (ctx: Context) => boolean;

/** Runs checks in order, in one middleware: a middleware for each would cost more than most of the checks. */
export function checks(all: readonly Check[]): Middleware {
  return (ctx, next) => {
    for (const check of all) if (check(ctx)) return;
    return next();
  };
}
