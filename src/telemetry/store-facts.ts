import { parseRedisUrl } from "../config/redis-url.ts";
import type { ServerFacts } from "./tracing.ts";

/** Where the tasks are sent to, without the login: of several nodes the first. */
export function storeFacts(storeUrl: string): ServerFacts {
  const address = parseRedisUrl(storeUrl);
  if (address.kind === "socket") return { "server.address": address.path };
  const { hostname, port } = new URL(address.kind === "single" ? address.url : "redis://localhost");
  const [first] = address.kind === "cluster" ? address.nodes : address.kind === "sentinel" ? address.sentinels : [];
  return { "server.address": first?.host ?? hostname, "server.port": first?.port ?? (Number(port) || 6379) };
}
