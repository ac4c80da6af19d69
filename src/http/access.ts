import type { Context } from "koa";
import { type ApiKey, SCOPES, type Scope } from "../api-key.ts";
import type { Inspection } from "../engine/inspect.ts";
import type { LinkSigner } from "./link-signer.ts";

/** Who sends a request, and what they may do. */
export interface Access {
  /** The name of their key; null where keys are off, or none was shown. */
  readonly caller: string | null;
  readonly scopes: ReadonlySet<Scope>;
  /** `none` was shown, or an `invalid` one; `off`: this server has no keys, and everyone may do everything. */
  readonly key: "off" | "none" | "invalid" | "valid";
  /** Makes the links of answers good without a key; undefined where that is off. */
  readonly signer: LinkSigner | undefined;
  /** The task that a signed link lets them read, with the query that did. */
  readonly link?: { readonly id: string; readonly query: string };
}

const EVERYTHING: ReadonlySet<Scope> = new Set(SCOPES);
const NOTHING: ReadonlySet<Scope> = new Set();

/** Anyone's access to a server without keys. */
export function openAccess(signer?: LinkSigner): Access {
  return { caller: null, scopes: EVERYTHING, key: "off", signer };
}

/** The access of whoever showed this key; undefined: none, or one that is not taken. */
export function keyAccess(entry: ApiKey | undefined, shown: boolean, signer?: LinkSigner): Access {
  if (!entry) return { caller: null, scopes: NOTHING, key: shown ? "invalid" : "none", signer };
  const scopes = entry.scopes.has("admin") ? EVERYTHING : entry.scopes;
  return { caller: entry.name, scopes, key: "valid", signer };
}

const OPEN = openAccess();

/** The access of a request. */
export function accessOf(ctx: Pick<Context, "state">): Access {
  return (ctx.state.access as Access | undefined) ?? OPEN;
}

/** The caller of a request, as it is kept with the tasks they submit. */
export function callerOf(ctx: Pick<Context, "state">): string | null {
  return accessOf(ctx).caller;
}

/** Whether they may see a task. To all others it is unknown. */
export function maySee(access: Access, task: Pick<Inspection, "id" | "caller">): boolean {
  return access.scopes.has("read") || isOwn(access, task) || access.link?.id === task.id;
}

/** Whether they may cancel a task, or destroy its result. */
export function mayEnd(access: Access, task: Pick<Inspection, "caller">): boolean {
  return access.scopes.has("admin") || isOwn(access, task);
}

function isOwn({ scopes, caller }: Access, task: Pick<Inspection, "caller">): boolean {
  return scopes.has("submit") && caller !== null && caller === task.caller;
}

/**
 * The query of links that read a task: "" where links are not signed. Whoever came by a signed link gets that one back, or
 * they could renew it for ever.
 */
export function signatureOf(ctx: Pick<Context, "state">, id: string): string {
  const { link, signer, key } = accessOf(ctx);
  if (link?.id === id && key !== "valid") return link.query;
  return signer?.sign(id) ?? "";
}
