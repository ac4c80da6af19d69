import type { Context } from "koa";
import type { KeyRing } from "../../auth/key-ring.ts";
import type { LinkKind, LinkSigner } from "../../auth/link-signer.ts";
import { ProblemError } from "../../errors.ts";
import { type Access, accessOf, forbidden, hasScope, keyAccess, type ShownLink } from "../request/access.ts";
import { hasEffects, type Route, routeOf } from "../route.ts";

/** `Bearer` and a token; the scheme in any case (RFC 9110 §11.1, RFC 6750 §2.1). */
const BEARER = /^bearer +([A-Za-z0-9._~+/-]+=*)$/i;

/** `Basic` and credentials (RFC 7617): how a browser sends an API key that is part of an address. */
const BASIC = /^basic +([A-Za-z0-9+/]+=*)$/i;

/** The access of the API key that a request has sent, if any. Nobody is refused here. */
export function sentAccess(ctx: Context, keyRing: KeyRing, signer: LinkSigner | undefined): Access {
  const header = ctx.get("Authorization");
  const key = BEARER.exec(header)?.[1] ?? (mayBeBrowser(ctx) ? passwordOf(header) : undefined);
  const entry = key === undefined ? undefined : keyRing.find(key);
  const name = entry ? undefined : routeOf(ctx)?.keyHeader;
  if (name === undefined) {
    const refused = entry || key === undefined ? {} : { refused: keyRing.refusalOf(key) };
    return { ...keyAccess(entry, header !== "", signer), ...(entry && { sentIn: "authorization" }), ...refused };
  }
  const other = ctx.get(name);
  return { ...keyAccess(other === "" ? undefined : keyRing.find(other), header + other !== "", signer), sentIn: name };
}

/** The password of basic credentials, whatever the user name. */
function passwordOf(header: string): string | undefined {
  const credentials = BASIC.exec(header)?.[1];
  if (credentials === undefined) return undefined;
  const text = Buffer.from(credentials, "base64").toString("utf8");
  return text.slice(text.indexOf(":") + 1);
}

/**
 * A browser adds basic credentials by itself, even to requests of pages of other sites. So with these credentials, a request
 * that changes something needs a header that our own script sends and pages of other sites cannot (Fetch standard, preflight).
 */
function mayBeBrowser(ctx: Context): boolean {
  return fromOwnPage(ctx) || !hasEffects(ctx);
}

/** Whether the script of a page of ours has sent the request: the dashboard always says so, the page of a task where it changes something. */
export function fromOwnPage(ctx: Context): boolean {
  return ctx.headers["x-requested-with"] === "paihao-dashboard";
}

/** Maximum length of the query of a request, in encoded characters. */
const QUERY_LIMIT = 8192;

/**
 * Refuses a request whose sender may not send it to its route.
 * @throws ProblemError invalid-parameter, unauthenticated, forbidden
 */
export function authorize(ctx: Context): void {
  if (ctx.querystring.length > QUERY_LIMIT) {
    throw new ProblemError("invalid-parameter", `The query is longer than ${QUERY_LIMIT} characters.`);
  }
  const access = accessOf(ctx);
  const route = routeOf(ctx);
  // Everyone may know that a route does not exist.
  if (access.key === "off" || !route) return;
  const { scopes, signedLink } = route;
  const otherwise = refusalOf(access, scopes);
  const link = signedLink && linkOf(ctx, access, signedLink);
  // The link is checked after its task has been read, see task/find.ts.
  if (link) ctx.state.access = { ...access, link: { ...link, otherwise } } satisfies Access;
  else if (otherwise) throw otherwise;
}

/** The refusal if the API key of a request lacks these scopes; else undefined. */
function refusalOf(access: Access, scopes: Route["scopes"]): ProblemError | undefined {
  if (hasScope(access, scopes)) return undefined;
  if (access.key !== "valid" || typeof scopes === "string") return unauthenticated(access);
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

/** Names no error if no key was sent (RFC 6750 §3). No browser asks for a password: the dashboard has a form. */
function unauthenticated({ key }: Access): ProblemError {
  const error = key === "invalid" ? ', error="invalid_token"' : "";
  return new ProblemError("unauthenticated", undefined, {
    headers: { "WWW-Authenticate": `Bearer realm="paihao"${error}` },
  });
}
