import { isIP } from "node:net";
import type Koa from "koa";
import type { Request } from "koa";

/** What a host may be to stand in an address of ours: a name, an IPv4 address or an IPv6 one in brackets, and a port. */
const SHOWN_HOST = /^(?:\[([0-9A-Fa-f:.]{2,45})\]|[A-Za-z0-9_][A-Za-z0-9._-]{0,252})(?::(\d{1,5}))?$/;
/** A target in absolute form: its host counts, whatever the Host header says (RFC 9112 §3.2.2). */
const ABSOLUTE_FORM = /^https?:\/\/([^/?#]*)/i;

/**
 * Has `host`, `protocol` and `ip` of every request say only what may be repeated: a host that could be one, http or https, and an
 * address without its port. X-Forwarded-* counts where a proxy is trusted. A host that is none is "".
 */
export function readForwarded(app: Koa): void {
  Object.defineProperties(app.request, {
    host: {
      get(this: Request) {
        const forwarded = app.proxy ? shownHost(firstOf(this.get("X-Forwarded-Host"))) : "";
        return forwarded || shownHost(ABSOLUTE_FORM.exec(this.req.url ?? "")?.[1] ?? this.get("Host"));
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

/** A host as it was sent where it could be one, else "". */
export function shownHost(host: string): string {
  const match = SHOWN_HOST.exec(host);
  if (!match) return "";
  const [, address, port = "0"] = match;
  return (address === undefined || isIP(address) === 6) && Number(port) <= 65_535 ? host : "";
}

/** The last address of X-Forwarded-For, without a port: that is our proxy's word, all before it is the caller's. */
export function forwardedAddress(field: string): string {
  const last = field.slice(field.lastIndexOf(",") + 1).trim();
  const end = last.indexOf("]");
  if (last.startsWith("[") && end > 0) return last.slice(1, end);
  const colon = last.indexOf(":");
  // One colon stands before a port, more are of an IPv6 address.
  return colon > 0 && colon === last.lastIndexOf(":") ? last.slice(0, colon) : last;
}

function firstOf(field: string): string {
  const comma = field.indexOf(",");
  return (comma < 0 ? field : field.slice(0, comma)).trim();
}
