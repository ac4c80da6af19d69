import { isIP } from "node:net";
import ipaddr from "ipaddr.js";
import type { Context, Middleware } from "koa";
import { PaihaoError } from "../../errors.ts";
import { accessOf } from "../access.ts";
import type { RateLimit } from "../rate-limit.ts";
import { needOf } from "../scopes.ts";

/**
 * Counts requests of each key, and of each address where none was shown, and tells of it in RateLimit headers
 * (draft-ietf-httpapi-ratelimit-headers-10). What is open to everyone, health and documentation, is not counted.
 */
export function rateLimit(limit: RateLimit): Middleware {
  return async (ctx, next) => {
    if (needOf(ctx.method, ctx.path)?.scopes === "none") return next();
    const left = await limit.take(subjectOf(ctx));
    if (!left) return next();
    ctx.set("RateLimit-Policy", `"default";q=${limit.rate.max};w=${limit.rate.perS}`);
    ctx.set("RateLimit", `"default";r=${left.remaining};t=${left.resetS}`);
    if (left.exceeded) {
      throw new PaihaoError("rate-limited", `At most ${limit.rate.max} requests in ${limit.rate.perS} s.`, {
        headers: { "Retry-After": String(Math.max(1, left.resetS)) },
      });
    }
    return next();
  };
}

function subjectOf(ctx: Context): string {
  const { key, caller } = accessOf(ctx);
  return key === "valid" ? `key ${caller}` : `address ${networkOf(ctx.ip)}`;
}

/** An address as a place to come from: of IPv6 the network, since every customer is given one to choose addresses from. */
export function networkOf(address: string): string {
  if (isIP(address) === 0) return "unknown";
  const parsed = ipaddr.process(address);
  if (!(parsed instanceof ipaddr.IPv6)) return parsed.toString();
  return `${parsed.parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(":")}::/64`;
}
