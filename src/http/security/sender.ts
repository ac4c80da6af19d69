import { isIP } from "node:net";
import ipaddr from "ipaddr.js";
import type { Context } from "koa";
import { accessOf } from "../task/access.ts";

/** Who sends a request, for counting: a key, or an address where none was shown. */
export function senderOf(ctx: Context): string {
  const { key, caller } = accessOf(ctx);
  return key === "valid" ? `key ${caller}` : `address ${networkOf(ctx.ip)}`;
}

/** An address as a place to come from: of IPv6 the network, since every customer is given one to choose addresses from. */
export function networkOf(address: string): string {
  if (isIP(address) === 0) return "unknown";
  const parsed = ipaddr.process(address);
  if (!(parsed instanceof ipaddr.IPv6)) return parsed.toString();
  return `${parsed.parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(":")}::/64`;
}
