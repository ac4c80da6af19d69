import type { Context } from "koa";
import type { LinkKind } from "../../auth/link-signer.ts";
import { ProblemError } from "../../errors.ts";
import { type Route, routeOf } from "../route.ts";
import { type Access, accessOf, hasScope, type ShownLink } from "../task/access.ts";
import type { Check } from "./checks.ts";
import { fromOwnPage } from "./identify.ts";

/** Maximum length of the query of a request, in encoded characters. */
const QUERY_LIMIT = 8192;

/** Passes a request on to its route, or refuses it with the scopes it needs. */
export function authorize(): Check {
  return (ctx) => {
    if (ctx.querystring.length > QUERY_LIMIT) {
      throw new ProblemError("invalid-parameter", `The query is longer than ${QUERY_LIMIT} characters.`);
    }
    if (accessOf(ctx).key !== "off") check(ctx);
    return false;
  };
}

/** @throws ProblemError unauthenticated, forbidden */
function check(ctx: Context): void {
  const route = routeOf(ctx);
  // Everyone may know that a route does not exist.
  if (!route) return;
  const { scopes, signedLink } = route;
  const access = accessOf(ctx);
  const otherwise = refusalOf(ctx, access, scopes);
  const link = signedLink && linkOf(ctx, access, signedLink);
  // The link is checked after its task has been read, see task/find.ts.
  if (link) ctx.state.access = { ...access, link: { ...link, otherwise } } satisfies Access;
  else if (otherwise) throw otherwise;
}

/** The refusal if the API key of a request lacks these scopes; else undefined. */
function refusalOf(ctx: Context, access: Access, scopes: Route["scopes"]): ProblemError | undefined {
  if (hasScope(access, scopes)) return undefined;
  if (access.key !== "valid" || typeof scopes === "string") return unauthenticated(access, fromOwnPage(ctx));
  return forbidden(scopes);
}

/** The signed link of a request; undefined also for an expired one. */
function linkOf(ctx: Context, { signer }: Access, kind: LinkKind): Omit<ShownLink, "otherwise"> | undefined {
  if (!signer || !ctx.querystring.includes("signature=")) return undefined;
  const search = new URLSearchParams(ctx.querystring);
  const [expires = "", signature = ""] = [search.get("expires") ?? "", search.get("signature") ?? ""];
  if (!signer.isCurrent(expires)) return undefined;
  const { id } = ctx.params;
  return {
    kind,
    id,
    query: `?expires=${expires}&signature=${signature}`,
    opens: (subject) => subject.id === id && signer.verify(kind, subject, expires, signature),
  };
}

/** Makes a browser ask for an API key (RFC 7617 §2). Not sent to API clients. */
const BASIC_CHALLENGE = 'Basic realm="paihao", charset="UTF-8", ';

/** Names no error if no key was sent (RFC 6750 §3). */
function unauthenticated({ key }: Access, browser: boolean): ProblemError {
  const error = key === "invalid" ? ', error="invalid_token"' : "";
  return new ProblemError("unauthenticated", undefined, {
    headers: { "WWW-Authenticate": `${browser ? BASIC_CHALLENGE : ""}Bearer realm="paihao"${error}` },
  });
}

/** The error of an API key that is valid, but lacks the scope. */
export function forbidden(scopes: readonly string[]): ProblemError {
  return new ProblemError("forbidden", `This needs an API key with the scope ${scopes.join(" or ")}.`, {
    headers: { "WWW-Authenticate": `Bearer realm="paihao", error="insufficient_scope", scope="${scopes[0]}"` },
    extensions: { scopes },
  });
}
