import type { Context } from "koa";
import { ProblemError } from "../../errors.ts";
import { hostOf, schemeOf } from "../headers/forwarded.ts";
import { hasEffects } from "../route.ts";
import type { Check } from "./checks.ts";

/**
 * Prevents web pages of other origins from changing anything through a visitor's browser: if a request with effects has an
 * Origin, it must be ours or a listed one; if the browser marks the request as another site's (Fetch Metadata), it must be a
 * listed one. Other programs send neither header. Another port of the same host is another origin.
 * @param origins those of CORS_ORIGINS: exact ones, or `*`
 */
export function sameOrigin(origins: readonly string[]): Check {
  const all = origins.includes("*");
  const listed = new Set(origins);
  return (ctx) => {
    const { origin = "", "sec-fetch-site": fetchSite = "" } = ctx.req.headers;
    if (origin === "" && fetchSite === "") return false;
    const site = String(fetchSite).toLowerCase();
    const elsewhere = site === "cross-site" || site === "same-site" || (origin !== "" && !isOurs(ctx, origin));
    if (elsewhere && hasEffects(ctx) && !listed.has(origin) && !(all && origin !== "")) {
      throw new ProblemError(
        "forbidden",
        "A page of another origin may do this only if CORS_ORIGINS lists that origin.",
      );
    }
    return false;
  };
}

/**
 * Whether an origin is that of this server as the client addressed it: with the host and port of the request. The scheme is
 * known only from a trusted proxy. `null`, and origins that are not http or https, are never ours.
 */
function isOurs(ctx: Context, origin: string): boolean {
  if (!/^https?:\/\//.test(origin) || !URL.canParse(origin)) return false;
  const { protocol, host } = new URL(origin);
  const asked = `${protocol}//${hostOf(ctx)}`;
  if (!URL.canParse(asked) || new URL(asked).host !== host) return false;
  return !(ctx.app.proxy && ctx.get("X-Forwarded-Proto") !== "") || `${schemeOf(ctx)}:` === protocol;
}
