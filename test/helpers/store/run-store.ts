import { randomBytes } from "node:crypto";
import { parseRedisUrl } from "../../../src/config/redis-url.ts";
import type { StoreKind } from "../../../src/config/variables.ts";
import type { ProvisionedStore } from "../../../src/store/servers/provision.ts";

/** Where the root hooks store the URL of the run's store: mocha may load them as another instance of this module. */
const SHARED = { url: "PAIHAO_TEST_STORE_URL", kind: "PAIHAO_TEST_STORE_KIND" } as const;

/** Only for the root hooks. */
export function publishStore({ url, kind }: Pick<ProvisionedStore, "url" | "kind">): void {
  process.env[SHARED.url] = url;
  process.env[SHARED.kind] = kind;
}

/** The URL of the store that the whole run shares; never flush it. */
export function storeUrl(): string {
  const url = process.env[SHARED.url];
  if (url === undefined) throw new Error("no store: ask for it in a test or hook, not while files are loaded");
  return url;
}

/** Where the shared store listens: the path of its socket, or its port if it is not a child of the run. */
export function storeTarget(): string | number {
  const address = parseRedisUrl(storeUrl());
  return address.kind === "socket" ? address.path : Number(new URL(storeUrl()).port);
}

/** The same store, through a port of this machine. */
export function storeUrlAt(port: number): string {
  const url = new URL(typeof storeTarget() === "string" ? "redis://127.0.0.1" : storeUrl());
  url.port = String(port);
  return url.href;
}

/** The same store, as another user. */
export function storeUrlAs(user: string, password: string): string {
  return storeUrl().replace(/:\/\/(?:[^@/]*@)?/, `://${user}:${password}@`);
}

/** Whether the shared store is a Redis Cluster. */
export function onCluster(): boolean {
  return storeUrl().startsWith("redis+cluster:");
}

/** The kind of the shared store, for tests of what a kind cannot do. */
export function storeKind(): StoreKind {
  return process.env[SHARED.kind] as StoreKind;
}

/** A KEY_PREFIX that no other test has. */
export function uniquePrefix(): string {
  return `t${randomBytes(5).toString("hex")}`;
}
