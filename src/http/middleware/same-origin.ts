import type { Context } from "koa";
import { PaihaoError } from "../../errors.ts";
import { hasEffects } from "../route-match.ts";
import type { Check } from "./checks.ts";

/**
 * Keeps web pages of other origins from changing anything with a visitor's browser: a request with effects that names an Origin
 * must name ours or one that is listed, and one that the browser marks as another site's (Fetch Metadata) must name a listed one.
 * A program that is no browser sends neither header. Another port of the same host is another origin.
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
    if (elsewhere && hasEffects(ctx.method, ctx.path) && !listed.has(origin) && !(all && origin !== "")) {
      throw new PaihaoError("forbidden", "A page of another origin may do this only where CORS_ORIGINS lists it.");
    }
    return false;
  };
}

/**
 * Whether an origin is that of this server, as the client reached it: host and port are those of the request. Whether that came
 * by http or https is known only where a trusted proxy says so. `null` and what is no web page's origin are never ours.
 */
function isOurs(ctx: Context, origin: string): boolean {
  if (!/^https?:\/\//.test(origin) || !URL.canParse(origin)) return false;
  const { protocol, host } = new URL(origin);
  const asked = `${protocol}//${ctx.host}`;
  if (!URL.canParse(asked) || new URL(asked).host !== host) return false;
  return !(ctx.app.proxy && ctx.get("X-Forwarded-Proto") !== "") || `${ctx.protocol}:` === protocol;
}
