import { isIP } from "node:net";
import ipaddr from "ipaddr.js";
import type { Context } from "koa";
import { type ApiKey, SCOPES, type Scope } from "../../auth/api-key.ts";
import type { LinkKind, LinkSigner, SignedSubject } from "../../auth/link-signer.ts";
import type { Inspection } from "../../engine/watch/inspect.ts";
import { ProblemError } from "../../errors.ts";
import type { Route } from "../route.ts";
import { withoutPort } from "./forwarded.ts";

/** Who sends a request, and what they may do. */
export interface Access {
  /** The name of their API key, stored with the tasks they submit; null if keys are off or none was sent. */
  readonly caller: string | null;
  readonly scopes: ReadonlySet<Scope>;
  /** `none` was sent, or an `invalid` one; `off`: this server has no keys, and everyone may do everything. */
  readonly key: "off" | "none" | "invalid" | "valid";
  /** Why the key that was sent is not accepted, for the log; undefined if it is, or none was sent. */
  readonly refused?: string;
  /** The header that has the key, in lower case; undefined if none has. */
  readonly sentIn?: string;
  /** Whether the dashboard has sent the request: an operator looks. */
  readonly dashboard?: boolean;
  /** Signs the links in responses, so that they work without a key; undefined if that is off. */
  readonly signer: LinkSigner | undefined;
  /** The signed link of the request, which opens only the task that it was signed for. */
  readonly link?: ShownLink;
}

/** A signed link as sent, not yet checked against its task or group. */
export interface ShownLink {
  readonly kind: LinkKind;
  readonly id: string;
  /** As sent, with its question mark. */
  readonly query: string;
  opens(subject: SignedSubject): boolean;
  /** The refusal if the link is invalid; undefined if the key is sufficient. */
  readonly otherwise: ProblemError | undefined;
}

/** The part of a task that decides who may see it. */
export type OwnedTask = Pick<Inspection, "id" | "caller" | "createdMs"> & Partial<Pick<Inspection, "fence">>;

const EVERYTHING: ReadonlySet<Scope> = new Set(SCOPES);
const NOTHING: ReadonlySet<Scope> = new Set();

/** The access of everyone on a server without keys. */
export function openAccess(signer?: LinkSigner): Access {
  return { caller: null, scopes: EVERYTHING, key: "off", signer };
}

/** The access of an API key; undefined if none or an unknown one was sent. */
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

/** Whether they may send requests to a route that requires these scopes; access to each task is checked separately. */
export function hasScope({ scopes, key }: Access, required: Route["scopes"]): boolean {
  if (required === "none") return true;
  return required === "any" ? key === "valid" || key === "off" : required.some((scope) => scopes.has(scope));
}

/** Whether they may see a task. To all others it is unknown. */
export function maySee(access: Access, task: OwnedTask): boolean {
  return mayRead(access, task) || (access.link?.opens(task) ?? false);
}

/** Whether they may see a task without a link to it. */
export function mayRead(access: Access, task: Pick<Inspection, "caller">): boolean {
  return access.scopes.has("read") || isOwn(access, task);
}

/** Whether their looks keep a task with a presence: yes for its caller and for holders of a link to it, no for operators. */
export function keepsPresent(access: Access, task: OwnedTask): boolean {
  if (access.dashboard) return false;
  return access.key === "off" || isOwn(access, task) || (access.link?.opens(task) ?? false);
}

/** Whether they may cancel a task, or delete its result. */
export function mayEnd(access: Access, task: Pick<Inspection, "caller">): boolean {
  return access.scopes.has("admin") || isOwn(access, task);
}

/** Whether they may say that a turn is over: also with the link for that. */
export function mayEndTurn(access: Access, task: OwnedTask): boolean {
  return mayEnd(access, task) || (access.link?.kind === "turn" && access.link.opens(task));
}

function isOwn({ scopes, caller }: Access, task: Pick<Inspection, "caller">): boolean {
  return scopes.has("submit") && caller !== null && caller === task.caller;
}

/**
 * The query of links that read a task: "" if links are not signed. Only callers who may see the task without a link get a new
 * one. Others get back the link that they used, since otherwise they could renew it forever.
 */
export function signatureOf(ctx: Pick<Context, "state">, task: OwnedTask, kind: LinkKind = "task"): string {
  const access = accessOf(ctx);
  if (mayRead(access, task)) return access.signer?.sign(kind, task) ?? "";
  return access.link?.kind === kind && access.link.id === task.id ? access.link.query : "";
}

/** The sender of a request for the rate limit: its API key, or its address without one. @param ctx null for the server itself */
export function senderOf(ctx: Context | null): string {
  if (!ctx) return "server";
  const { key, caller } = accessOf(ctx);
  return key === "valid" ? `key ${caller}` : `address ${networkOf(withoutPort(ctx.ip))}`;
}

/** An address as a sender. For IPv6 it is the /64 network, since a customer gets a whole one. */
function networkOf(address: string): string {
  if (isIP(address) === 0) return "unknown";
  const parsed = ipaddr.process(address);
  if (!(parsed instanceof ipaddr.IPv6)) return parsed.toString();
  return `${parsed.parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(":")}::/64`;
}

/** The error of an API key that is valid, but lacks the scope. */
export function forbidden(scopes: readonly string[]): ProblemError {
  return new ProblemError("forbidden", `This needs an API key with the scope ${scopes.join(" or ")}.`, {
    headers: { "WWW-Authenticate": `Bearer realm="paihao", error="insufficient_scope", scope="${scopes[0]}"` },
    extensions: { scopes },
  });
}
