import { isIP } from "node:net";
import ipaddr from "ipaddr.js";
import type { Context } from "koa";
import { withoutPort } from "./headers/forwarded.ts";
import { accessOf } from "./task/access.ts";

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
