import { isIP } from "node:net";
import type Koa from "koa";
import type { Request } from "koa";

/** A host that may appear in our URLs: a name, an IPv4 address, or an IPv6 address in brackets, and a port. */
const SHOWN_HOST = /^(?:\[([0-9A-Fa-f:.]{2,45})\]|[A-Za-z0-9_][A-Za-z0-9._-]{0,252})(?::(\d{1,5}))?$/;
/** A target in absolute form, whose host takes precedence over the Host header (RFC 9112 §3.2.2). */
const ABSOLUTE_FORM = /^https?:\/\/([^/?#]*)/i;

/**
 * Makes `host`, `protocol` and `ip` of every request safe to repeat: a valid host or "", http or https, and an address without
 * a port. X-Forwarded-* is used if a proxy is trusted.
 */
export function readForwarded(app: Koa): void {
  Object.defineProperties(app.request, {
    host: {
      get(this: Request) {
        const forwarded = app.proxy ? shownHost(firstOf(this.get("X-Forwarded-Host"))) : "";
        return forwarded || shownHost(namedIn(this.req.url ?? "") ?? this.req.headers.host ?? "");
      },
    },
    protocol: {
      get(this: Request) {
        return app.proxy && firstOf(this.get("X-Forwarded-Proto")).toLowerCase() === "https" ? "https" : "http";
      },
    },
    ip: {
      get(this: Request) {
        const forwarded = app.proxy ? forwardedAddress(this.get("X-Forwarded-For")) : "";
        return forwarded || (this.socket.remoteAddress ?? "");
      },
    },
  });
}

/** The host in the target of a request, where it has one. */
export function namedIn(target: string): string | undefined {
  return target.startsWith("/") ? undefined : ABSOLUTE_FORM.exec(target)?.[1];
}

/** The last host that was found valid: nearly all requests have the same. */
let lastShown = "";

/** The host as it was sent if it is valid, else "". */
export function shownHost(host: string): string {
  if (host === lastShown) return host;
  const shown = validHost(host);
  if (shown !== "") lastShown = shown;
  return shown;
}

function validHost(host: string): string {
  const match = SHOWN_HOST.exec(host);
  if (!match) return "";
  const [, address, port = "0"] = match;
  return (address === undefined || isIP(address) === 6) && Number(port) <= 65_535 ? host : "";
}

/** The last address of X-Forwarded-For, without a port: our proxy added it, and everything before it is from the caller. */
export function forwardedAddress(field: string): string {
  const last = field.slice(field.lastIndexOf(",") + 1).trim();
  const end = last.indexOf("]");
  if (last.startsWith("[") && end > 0) return last.slice(1, end);
  const colon = last.indexOf(":");
  // A single colon separates a port; more belong to an IPv6 address.
  return colon > 0 && colon === last.lastIndexOf(":") ? last.slice(0, colon) : last;
}

function firstOf(field: string): string {
  const comma = field.indexOf(",");
  return (comma < 0 ? field : field.slice(0, comma)).trim();
}
