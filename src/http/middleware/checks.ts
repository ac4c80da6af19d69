import type { Context, Middleware } from "koa";

/** Looks at a request before its route does. It throws what the request is refused with; true where it has answered it. */
export type Check = (ctx: Context) => boolean;

/** Runs checks one after another, in one middleware: one each would cost more than most of the checks. */
export function checks(all: readonly Check[]): Middleware {
  return (ctx, next) => {
    for (const check of all) if (check(ctx)) return;
    return next();
  };
}
