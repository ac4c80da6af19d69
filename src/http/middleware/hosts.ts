import type { ServedHosts } from "../../config/config.ts";
import { PaihaoError } from "../../errors.ts";
import { ROUTES } from "../routes.ts";
import type { Check } from "./checks.ts";

/** A host without its port: a name, an IPv4 address, or an IPv6 address in brackets. */
const HOST = /^(\[[0-9A-Fa-f:.]+\]|[^:[\]]+)(?::\d*)?$/;

/** The paths for probes of an orchestrator, which often know only the address of a server. */
const PROBES = new Set<string>([ROUTES.health.path, ROUTES.readiness.path]);

/**
 * Answers only requests for our own hosts. A web page can make its own name resolve to this machine (DNS rebinding) and then
 * has the same origin as we do, but its requests still have that name as Host. A request without a Host is HTTP/1.0, which no
 * browser sends. Forwarding headers are ignored, since such a page could send them itself.
 */
export function hosts({ names, probes }: ServedHosts): Check {
  const ours = new Set(names);
  return (ctx) => {
    const { host } = ctx.req.headers;
    const served = host === undefined || ours.has(HOST.exec(host)?.[1]?.toLowerCase() ?? "");
    if (!served && !(probes && PROBES.has(ctx.path))) throw new PaihaoError("wrong-host");
    return false;
  };
}
