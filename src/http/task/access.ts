import type { Context } from "koa";
import { type ApiKey, SCOPES, type Scope } from "../../auth/api-key.ts";
import type { LinkSigner, SignedTask } from "../../auth/link-signer.ts";
import type { Inspection } from "../../engine/inspect.ts";
import type { PaihaoError } from "../../errors.ts";

/** Who sends a request, and what they may do. */
export interface Access {
  /** The name of their key; null where keys are off, or none was shown. */
  readonly caller: string | null;
  readonly scopes: ReadonlySet<Scope>;
  /** `none` was shown, or an `invalid` one; `off`: this server has no keys, and everyone may do everything. */
  readonly key: "off" | "none" | "invalid" | "valid";
  /** Makes the links of answers good without a key; undefined where that is off. */
  readonly signer: LinkSigner | undefined;
  /** The link that they came by, which opens a task only if it was signed for it. */
  readonly link?: ShownLink;
}

/** A signed link as it was shown, before the task that it may open was looked at. */
export interface ShownLink {
  readonly id: string;
  /** As it was sent, with its question mark. */
  readonly query: string;
  opens(task: SignedTask): boolean;
  /** How they are refused where the link opens nothing; undefined where they may ask without one. */
  readonly otherwise: PaihaoError | undefined;
}

/** A task as far as it matters who may see it. */
type OwnedTask = Pick<Inspection, "id" | "caller" | "createdMs">;

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
export function maySee(access: Access, task: OwnedTask): boolean {
  return mayRead(access, task) || (access.link?.opens(task) ?? false);
}

/** Whether they may see a task without a link to it. */
export function mayRead(access: Access, task: Pick<Inspection, "caller">): boolean {
  return access.scopes.has("read") || isOwn(access, task);
}

/** Whether they may cancel a task, or destroy its result. */
export function mayEnd(access: Access, task: Pick<Inspection, "caller">): boolean {
  return access.scopes.has("admin") || isOwn(access, task);
}

function isOwn({ scopes, caller }: Access, task: Pick<Inspection, "caller">): boolean {
  return scopes.has("submit") && caller !== null && caller === task.caller;
}

/**
 * The query of links that read a task: "" where links are not signed. Only who may see the task without a link is given a new one:
 * whoever came by one gets that back, or they could renew it for ever.
 */
export function signatureOf(ctx: Pick<Context, "state">, task: OwnedTask): string {
  const access = accessOf(ctx);
  if (mayRead(access, task)) return access.signer?.sign(task) ?? "";
  return access.link?.id === task.id ? access.link.query : "";
}
