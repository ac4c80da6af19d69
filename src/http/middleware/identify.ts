import type { Middleware } from "koa";
import { type Access, keyAccess, openAccess } from "../access.ts";
import type { KeyRing } from "../key-ring.ts";
import type { LinkSigner } from "../link-signer.ts";

/** `Bearer` and a token; the scheme in any case (RFC 9110 §11.1, RFC 6750 §2.1). */
const BEARER = /^bearer +([A-Za-z0-9._~+/-]+=*)$/i;

/**
 * Finds out who sends a request, and refuses nobody: the first of all, since the id of a request depends on its sender, and
 * whoever is refused is to be told so under an id.
 */
export function identify({ keyRing, signer }: { keyRing?: KeyRing; signer?: LinkSigner }): Middleware {
  const open = openAccess(signer);
  return (ctx, next) => {
    ctx.state.access = keyRing ? shown(ctx.get("Authorization"), keyRing, signer) : open;
    return next();
  };
}

function shown(header: string, keyRing: KeyRing, signer: LinkSigner | undefined): Access {
  const key = BEARER.exec(header)?.[1];
  return keyAccess(key === undefined ? undefined : keyRing.find(key), header !== "", signer);
}
