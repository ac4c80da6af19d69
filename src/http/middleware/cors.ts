import type { Middleware } from "koa";
import { responseOf } from "../response.ts";
import { METHODS } from "../routes.ts";

/** Every header of our answers that a page has a use for and may not read unasked; `*` is for those that handlers set. */
const EXPOSED = [
  "X-Request-Id",
  "Location",
  "Operation-Location",
  "Link",
  "Preference-Applied",
  "Retry-After",
  "X-Task-State",
  "X-Queue-Index",
  "X-Queue-ETA",
  "Idempotent-Replayed",
  "ETag",
  "Vary",
  "Allow",
  "WWW-Authenticate",
  "RateLimit",
  "RateLimit-Policy",
  "X-Accel-Buffering",
  "*",
].join(", ");

/** The gateway hands on whatever is sent; the star does not mean Authorization (Fetch standard, "CORS protocol"). */
const REQUEST_HEADERS = "*, Authorization";
/** How long a browser need not ask again, seconds. */
const MAX_AGE = "600";

/**
 * Lets web pages of some origins read what we answer. Never with credentials: keys are sent by whoever has them, not by the
 * browser of its own accord. What pages of all other origins may not do: see same-origin.ts.
 * @param origins exact ones, or `*`; none: off
 */
export function cors(origins: readonly string[]): Middleware {
  const all = origins.includes("*");
  const allowed = new Set(origins);
  return (ctx, next) => {
    const origin = ctx.get("Origin");
    if (allowed.size > 0) responseOf(ctx).varyBy("Origin");
    if (origin !== "" && (all || allowed.has(origin))) {
      ctx.set("Access-Control-Allow-Origin", all ? "*" : origin);
      if (ctx.method === "OPTIONS" && ctx.get("Access-Control-Request-Method") !== "") {
        ctx.set("Access-Control-Allow-Methods", METHODS);
        ctx.set("Access-Control-Allow-Headers", REQUEST_HEADERS);
        ctx.set("Access-Control-Max-Age", MAX_AGE);
        ctx.status = 204;
        return;
      }
      ctx.set("Access-Control-Expose-Headers", EXPOSED);
    }
    return next();
  };
}
