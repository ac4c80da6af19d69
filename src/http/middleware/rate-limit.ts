import type { Middleware } from "koa";
import { ProblemError } from "../../errors.ts";
import { routeOf } from "../route.ts";
import type { RateLimit } from "../security/rate-limit.ts";
import { senderOf } from "../security/sender.ts";
import { stoppedBy } from "./checks.ts";

/**
 * Counts the requests of each API key, or of each address if none was sent, and reports them in RateLimit headers
 * (draft-ietf-httpapi-ratelimit-headers-10). Refused requests count too; preflights and routes open to everyone, such as health
 * and documentation, do not.
 */
export function rateLimit(limit: RateLimit): Middleware {
  return async (ctx, next) => {
    if (stoppedBy(ctx) === "answered" || routeOf(ctx)?.scopes === "none") return next();
    const left = await limit.take(senderOf(ctx));
    if (!left) return next();
    ctx.set("RateLimit-Policy", `"default";q=${limit.rate.max};w=${limit.rate.perS}`);
    ctx.set("RateLimit", `"default";r=${left.remaining};t=${left.resetS}`);
    if (left.exceeded) {
      throw new ProblemError("rate-limited", `At most ${limit.rate.max} requests in ${limit.rate.perS} s.`, {
        retryAfterS: left.resetS,
      });
    }
    return next();
  };
}
