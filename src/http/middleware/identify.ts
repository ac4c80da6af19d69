import type { Context, Middleware } from "koa";
import type { KeyRing } from "../../auth/key-ring.ts";
import type { LinkSigner } from "../../auth/link-signer.ts";
import { hasEffects } from "../route.ts";
import { type Access, keyAccess, openAccess } from "../task/access.ts";

/** `Bearer` and a token; the scheme in any case (RFC 9110 §11.1, RFC 6750 §2.1). */
const BEARER = /^bearer +([A-Za-z0-9._~+/-]+=*)$/i;

/** `Basic` and credentials (RFC 7617): how a browser sends an API key for the dashboard. */
const BASIC = /^basic +([A-Za-z0-9+/]+=*)$/i;

/** The password of basic credentials, whatever the user name. */
function passwordOf(header: string): string | undefined {
  const credentials = BASIC.exec(header)?.[1];
  if (credentials === undefined) return undefined;
  const text = Buffer.from(credentials, "base64").toString("utf8");
  return text.slice(text.indexOf(":") + 1);
}

/**
 * Identifies the sender of a request, without refusing anyone. It runs first, since the id of a request depends on its sender,
 * and a refusal needs an id too.
 */
export function identify({ keyRing, signer }: { keyRing?: KeyRing; signer?: LinkSigner }): Middleware {
  const open = openAccess(signer);
  return (ctx, next) => {
    const access = keyRing ? shown(ctx, keyRing, signer) : open;
    ctx.state.access = fromOwnPage(ctx) ? { ...access, dashboard: true } : access;
    return next();
  };
}

function shown(ctx: Context, keyRing: KeyRing, signer: LinkSigner | undefined): Access {
  const header = ctx.get("Authorization");
  const key = BEARER.exec(header)?.[1] ?? (mayBeBrowser(ctx) ? passwordOf(header) : undefined);
  return keyAccess(key === undefined ? undefined : keyRing.find(key), header !== "", signer);
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
