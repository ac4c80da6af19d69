import { randomBytes } from "node:crypto";
import { parseRedisUrl } from "../../../src/config/redis-url.ts";
import type { StoreKind } from "../../../src/config/variables.ts";
import type { ProvisionedStore } from "../../../src/store/servers/provision.ts";

/** Mocha runs files in processes of their own, which find the stores here. */
const SHARED = "PAIHAO_TEST_STORES";

type Store = Pick<ProvisionedStore, "url" | "kind">;

/** Only for what starts the stores. */
export function publishStores(stores: readonly Store[]): void {
  process.env[SHARED] = JSON.stringify(stores.map(({ url, kind }) => ({ url, kind })));
}

/** The store of this process. */
function ownStore(): Store {
  const stores = JSON.parse(process.env[SHARED] ?? "[]") as Store[];
  const store = stores[Number(process.env.MOCHA_WORKER_ID ?? 0) % stores.length];
  if (store === undefined) throw new Error("no store: ask for it in a test or hook, not while files are loaded");
  return store;
}

/** The URL of the store that many tests share; never flush it. */
export function storeUrl(): string {
  return ownStore().url;
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
  return ownStore().kind;
}

/** A KEY_PREFIX that no other test has. */
export function uniquePrefix(): string {
  return `t${randomBytes(5).toString("hex")}`;
}
