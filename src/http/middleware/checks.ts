import type { Context, Middleware } from "koa";

/** A check of a request before its route. Throws to refuse the request; returns true if it has answered it. */
export type Check = (ctx: Context) => boolean;

/** Why a request does not reach its route: it is refused, or already answered. */
type CheckEnd = { readonly refusal: unknown } | "answered";

/**
 * Runs checks in order, in one middleware: a middleware for each would cost more than most checks. The decision is only
 * recorded, for {@link enforce}: the id of a refused request must not reveal whether its key is valid, and refused requests are
 * counted too.
 */
export function decide(all: readonly Check[]): Middleware {
  return (ctx, next) => {
    try {
      for (const check of all) {
        if (!check(ctx)) continue;
        ctx.state.stopped = "answered" satisfies CheckEnd;
        break;
      }
    } catch (refusal) {
      ctx.state.stopped = { refusal } satisfies CheckEnd;
    }
    return next();
  };
}

/** What the checks have decided; undefined if the request may reach its route. */
export function stoppedBy(ctx: Pick<Context, "state">): CheckEnd | undefined {
  return ctx.state.stopped as CheckEnd | undefined;
}

/** Lets only requests pass that no check has refused or answered. */
export const enforce: Middleware = (ctx, next) => {
  const stopped = stoppedBy(ctx);
  if (stopped === undefined) return next();
  if (stopped === "answered") return;
  throw stopped.refusal;
};
