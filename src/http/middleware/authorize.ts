import type { Context, Middleware } from "koa";
import { PaihaoError } from "../../errors.ts";
import { findRoute } from "../route-match.ts";
import { ROUTES, type Route } from "../routes.ts";
import { type Access, accessOf, type ShownLink } from "../task/access.ts";

/** Longest query of a request, characters as they are sent. */
const QUERY_LIMIT = 8192;

/** Lets a request through to its route, or says which key it would need. */
export function authorize(): Middleware {
  return (ctx, next) => {
    if (ctx.querystring.length > QUERY_LIMIT) {
      throw new PaihaoError("invalid-parameter", `The query is longer than ${QUERY_LIMIT} characters.`);
    }
    if (accessOf(ctx).key !== "off") check(ctx);
    return next();
  };
}

/** @throws PaihaoError unauthenticated, forbidden */
function check(ctx: Context): void {
  const match = findRoute(ctx.method, ctx.path);
  // A path without a route says so to everybody.
  if (!match) return;
  const { scopes, signedLink } = match.route;
  const access = accessOf(ctx);
  const otherwise = refusalOf(ctx, access, scopes);
  const link = signedLink && linkOf(ctx, access, match.param("id") ?? "");
  // Whether it is a good one is known when its task has been looked at, see task/find.ts.
  if (link) ctx.state.access = { ...access, link: { ...link, otherwise } } satisfies Access;
  else if (otherwise) throw otherwise;
}

/** Why a request is refused for what its key is, or is not. */
function refusalOf(ctx: Context, access: Access, scopes: Route["scopes"]): PaihaoError | undefined {
  if (scopes === "none") return undefined;
  if (access.key !== "valid") return unauthenticated(access, fromBrowser(ctx));
  const enough = scopes === "any" || access.scopes.has("admin") || scopes.some((scope) => access.scopes.has(scope));
  return enough ? undefined : forbidden(scopes);
}

/** The signed link that was shown. An expired one is as good as none. */
function linkOf(ctx: Context, { signer }: Access, id: string): Omit<ShownLink, "otherwise"> | undefined {
  if (!signer || !ctx.querystring.includes("signature=")) return undefined;
  const search = new URLSearchParams(ctx.querystring);
  const [expires = "", signature = ""] = [search.get("expires") ?? "", search.get("signature") ?? ""];
  if (!signer.isCurrent(expires)) return undefined;
  return {
    id,
    query: `?expires=${expires}&signature=${signature}`,
    opens: (task) => task.id === id && signer.verify(task, expires, signature),
  };
}

/** Asks a browser for a key; of an API client it would only make a dialog that nobody sees (RFC 7617 §2). */
const BASIC_CHALLENGE = 'Basic realm="paihao", charset="UTF-8", ';

/** The dashboard, or what its script asks for. */
function fromBrowser(ctx: Context): boolean {
  return ctx.path.startsWith(ROUTES.dashboard.path) || ctx.get("X-Requested-With") === "paihao-dashboard";
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
