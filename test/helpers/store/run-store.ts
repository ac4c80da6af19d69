import { randomBytes } from "node:crypto";
import type { StoreKind } from "../../../src/config/config.ts";
import type { ProvisionedStore } from "../../../src/store/servers/provision.ts";

/** Where the root hooks leave the run's store: mocha may load them as another instance of this module. */
const SHARED = { url: "PAIHAO_TEST_STORE_URL", kind: "PAIHAO_TEST_STORE_KIND" } as const;

/** Called by the root hooks alone. */
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

/** The same store, through another port of this machine. */
export function storeUrlAt(port: number): string {
  const url = new URL(storeUrl());
  url.port = String(port);
  return url.href;
}

/** Whether the shared store is a Redis Cluster. */
export function onCluster(): boolean {
  return storeUrl().startsWith("redis+cluster:");
}

/** What the shared store is, for tests of what one kind cannot do. */
export function storeKind(): StoreKind {
  return process.env[SHARED.kind] as StoreKind;
}

/** A KEY_PREFIX that no other test has. */
export function uniquePrefix(): string {
  return `t${randomBytes(5).toString("hex")}`;
}
