import { parseRedisUrl } from "../../config/redis-url.ts";
import type { ServerFacts } from "./tracing.ts";

/** Where the tasks are sent to, without the login: of several nodes the first. */
export function storeFacts(storeUrl: string): ServerFacts {
  const address = parseRedisUrl(storeUrl);
  if (address.kind === "socket") return { "server.address": address.path };
  const [first] =
    address.kind === "single" ? [address] : address.kind === "cluster" ? address.nodes : address.sentinels;
  return { "server.address": first?.host ?? "", ...(first && { "server.port": first.port }) };
}
