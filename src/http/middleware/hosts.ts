import { isIP } from "node:net";
import type { ServedHosts } from "../../config/config.ts";
import { ProblemError } from "../../errors.ts";
import { namedIn, shownHost } from "../headers/forwarded.ts";
import { routeOf } from "../route.ts";
import type { Check } from "./checks.ts";

/** A host without its port: a name, an IPv4 address, or an IPv6 address in brackets. */
const HOST = /^(\[[0-9A-Fa-f:.]+\]|[^:[\]]+)(?::\d*)?$/;

/**
 * Answers only requests for our own hosts. A web page can make its own name resolve to this machine (DNS rebinding) and then
 * has the same origin as we do, but its requests still have that name as Host. A request without a Host is HTTP/1.0, which no
 * browser sends. Forwarding headers are ignored, since such a page could send them itself.
 */
export function hosts({ names, addresses, probes }: ServedHosts): Check {
  const ours = new Set(names);
  const isServed = (name: string) => ours.has(name) || (addresses && isIP(name.replace(/^\[|\]$/g, "")) !== 0);
  return (ctx) => {
    const { host } = ctx.req.headers;
    if (host === undefined) return false;
    const name = nameOf(host);
    // The host of an absolute target takes precedence over the header, but no honest client sends two that differ.
    const target = namedIn(ctx.req.url ?? "");
    const named = target === undefined ? name : nameOf(target.slice(target.lastIndexOf("@") + 1));
    // The probes of an orchestrator often know only the address of a server.
    const isProbe = probes && routeOf(ctx)?.polledBy === "orchestrator";
    if ((isServed(name) && isServed(named)) || isProbe) return false;
    const shown = shownHost(isServed(name) ? named : name) || "The host of this request";
    throw new ProblemError("wrong-host", `${shown} is not a host of this server; ALLOWED_HOSTS can list it.`);
  };
}

/** The name or address of a host, in lower case; "" if it has none. */
function nameOf(host: string): string {
  return HOST.exec(host)?.[1]?.toLowerCase() ?? "";
}
