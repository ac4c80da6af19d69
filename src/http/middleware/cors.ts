import { METHODS } from "../route.ts";
import type { Check } from "./checks.ts";

/** Headers that pages may read in addition to those they always may; `*` is for those that handlers set. */
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
  "Presence",
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

/** All headers, since the gateway forwards them; `*` does not include Authorization (Fetch standard, "CORS protocol"). */
const REQUEST_HEADERS = "*, Authorization";
/** How long a browser may cache a preflight, seconds. */
const MAX_AGE = "600";

/**
 * Lets web pages of some origins read responses. Never with credentials: pages send keys themselves, the browser does not add
 * them. For requests from other origins see same-origin.ts.
 * @param origins exact origins, or `*`; off if empty
 */
export function cors(origins: readonly string[]): Check {
  if (origins.length === 0) return () => false;
  const all = origins.includes("*");
  const allowed = new Set(origins);
  return (ctx) => {
    const origin = ctx.get("Origin");
    ctx.vary("Origin");
    if (origin !== "" && (all || allowed.has(origin))) {
      ctx.set("Access-Control-Allow-Origin", all ? "*" : origin);
      if (ctx.method === "OPTIONS" && ctx.get("Access-Control-Request-Method") !== "") {
        ctx.set("Access-Control-Allow-Methods", METHODS);
        ctx.set("Access-Control-Allow-Headers", REQUEST_HEADERS);
        ctx.set("Access-Control-Max-Age", MAX_AGE);
        ctx.status = 204;
        return true;
      }
      ctx.set("Access-Control-Expose-Headers", EXPOSED);
    }
    return false;
  };
}
