import { isIP } from "node:net";
import type { Context } from "koa";

/** A host that may appear in our URLs: a name, an IPv4 address, or an IPv6 address in brackets, and a port. */
const SHOWN_HOST = /^(?:\[([0-9A-Fa-f:.]{2,45})\]|[A-Za-z0-9_][A-Za-z0-9._-]{0,252})(?::(\d{1,5}))?$/;
/** A target in absolute form, whose host takes precedence over the Host header (RFC 9112 §3.2.2). */
const ABSOLUTE_FORM = /^https?:\/\/([^/?#]*)/i;

/**
 * The host that a request was sent to, which is safe to repeat: a valid one or "". Behind a trusted proxy it is the one that the proxy was
 * asked for.
 */
export function hostOf(ctx: Context): string {
  const [forwarded = ""] = ctx.app.proxy ? ctx.get("X-Forwarded-Host").split(",", 1) : [];
  return shownHost(forwarded.trim()) || shownHost(namedIn(ctx.req.url ?? "") ?? ctx.req.headers.host ?? "");
}

/** A path of segments that are safe in any URL, none of them `.` or `..`. */
const PREFIX = /^(?:\/(?!\.{1,2}(?:\/|$))[A-Za-z0-9._~-]+)+$/;
const LONGEST_PREFIX = 256;

/** Below which path a trusted proxy has this server, from X-Forwarded-Prefix; "" if at the root, or if that path is not safe. */
export function forwardedPrefix(ctx: Context): string {
  if (!ctx.app.proxy) return "";
  const prefix = ctx.get("X-Forwarded-Prefix").replace(/\/$/, "");
  return prefix.length <= LONGEST_PREFIX && PREFIX.test(prefix) ? prefix : "";
}

/** What is known of a request through its whole life, which may be that of an event stream. */
export type Sender = Pick<Context, "state">;

/** {@link forwardedPrefix} of a request that has been checked. */
export function prefixOf({ state }: Sender): string {
  return (state.prefix as string | undefined) ?? "";
}

/** A path of this server as the sender of a request can use it. */
export function linkTo(sender: Sender, path: string): string {
  return prefixOf(sender) + path;
}

/** The scheme that a request was sent with; Koa passes on whatever a trusted proxy says. */
export function schemeOf(ctx: Context): "http" | "https" {
  return ctx.secure ? "https" : "http";
}

/** The host in the target of a request, if it has one. */
export function namedIn(target: string): string | undefined {
  return target.startsWith("/") ? undefined : ABSOLUTE_FORM.exec(target)?.[1];
}

/** The last host that was found valid: nearly all requests have the same one. */
let lastShown = "";

/** The host as it was sent if it is valid, else "". */
export function shownHost(host: string): string {
  if (host === lastShown) return host;
  const [match, address, port = "0"] = SHOWN_HOST.exec(host) ?? [];
  if (match === undefined || (address !== undefined && isIP(address) !== 6) || Number(port) > 65_535) return "";
  lastShown = host;
  return host;
}

/** An address without the port that some proxies add. */
export function withoutPort(address: string): string {
  const end = address.indexOf("]");
  if (address.startsWith("[") && end > 0) return address.slice(1, end);
  const colon = address.indexOf(":");
  // A single colon separates a port; more belong to an IPv6 address.
  return colon > 0 && colon === address.lastIndexOf(":") ? address.slice(0, colon) : address;
}
