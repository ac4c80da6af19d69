import type { ServedHosts } from "../../config/config.ts";
import { PaihaoError } from "../../errors.ts";
import { ROUTES } from "../routes.ts";
import type { Check } from "./checks.ts";

/** A host without its port: a name, an IPv4 address, or an IPv6 address in brackets. */
const HOST = /^(\[[0-9A-Fa-f:.]+\]|[^:[\]]+)(?::\d*)?$/;

/** What probes of an orchestrator ask for, which know a server by its address alone. */
const PROBES = new Set<string>([ROUTES.health.path, ROUTES.readiness.path]);

/**
 * Answers only requests for hosts that are ours. A web page may point a name of its own at this machine (DNS rebinding) and is
 * then of one origin with us, but its requests still name that host. A request without a Host is HTTP/1.0: no browser sends it.
 * What a proxy forwards is not looked at: such a page could send that itself.
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
