import type Router from "@koa/router";
import type { Context, Middleware } from "koa";
import { PaihaoError } from "../../errors.ts";
import { type Access, accessOf } from "../access.ts";
import { type Need, needOf } from "../scopes.ts";

/** Longest query of a request, characters as they are sent. */
export const QUERY_LIMIT = 8192;

/** Lets a request through to its route, or says which key it would need. */
export function authorize(routers: readonly Router[]): Middleware {
  return (ctx, next) => {
    if (ctx.querystring.length > QUERY_LIMIT) {
      throw new PaihaoError("invalid-parameter", `The query is longer than ${QUERY_LIMIT} characters.`);
    }
    if (accessOf(ctx).key !== "off") check(ctx, routers);
    return next();
  };
}

/** @throws PaihaoError unauthenticated, forbidden */
function check(ctx: Context, routers: readonly Router[]): void {
  const access = accessOf(ctx);
  const { scopes, reads } = needOf(ctx.method, ctx.path) ?? unlisted(ctx, routers);
  const link = reads === undefined ? undefined : linkOf(ctx, access, decoded(reads));
  if (link) ctx.state.access = { ...access, link } satisfies Access;
  if (link || scopes === "none") return;
  if (access.key !== "valid") throw unauthenticated(access, fromBrowser(ctx));
  if (scopes !== "any" && !access.scopes.has("admin") && !scopes.some((scope) => access.scopes.has(scope))) {
    throw forbidden(scopes);
  }
}

/** A route that nobody has listed is for those who may do everything; a path without one says so to everybody. */
function unlisted(ctx: Context, routers: readonly Router[]): Need {
  return { scopes: routers.some((router) => router.match(ctx.path, ctx.method).route) ? ["admin"] : "none" };
}

/** The task that a signed link lets its holder read. An expired or forged one is as good as none. */
function linkOf(ctx: Context, { signer }: Access, id: string): Access["link"] {
  if (!signer || !ctx.querystring.includes("signature=")) return undefined;
  const search = new URLSearchParams(ctx.querystring);
  const [expires = "", signature = ""] = [search.get("expires") ?? "", search.get("signature") ?? ""];
  return signer.verify(id, expires, signature)
    ? { id, query: `?expires=${expires}&signature=${signature}` }
    : undefined;
}

/** Asks a browser for a key; of an API client it would only make a dialog that nobody sees (RFC 7617 §2). */
const BASIC_CHALLENGE = 'Basic realm="paihao", charset="UTF-8", ';

/** The dashboard, or what its script asks for. */
function fromBrowser(ctx: Context): boolean {
  return ctx.path.startsWith("/dashboard") || ctx.get("X-Requested-With") === "paihao-dashboard";
}

/** RFC 6750 §3: no error is named to whoever showed nothing. */
function unauthenticated({ key }: Access, browser: boolean): PaihaoError {
  const error = key === "invalid" ? ', error="invalid_token"' : "";
  return new PaihaoError("unauthenticated", undefined, {
    headers: { "WWW-Authenticate": `${browser ? BASIC_CHALLENGE : ""}Bearer realm="paihao"${error}` },
  });
}

/** Says that a key is valid, but not for this. */
export function forbidden(scopes: readonly string[]): PaihaoError {
  return new PaihaoError("forbidden", `This needs a key with the scope ${scopes.join(" or ")}.`, {
    headers: { "WWW-Authenticate": `Bearer realm="paihao", error="insufficient_scope", scope="${scopes[0]}"` },
    extensions: { scopes },
  });
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
