import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { STORES, type StoreKind } from "../../src/config/variables.ts";
import { createLog } from "../../src/log.ts";
import { connect } from "../../src/store/connection.ts";
import { type ProvisionedStore, provisionStore } from "../../src/store/servers/provision.ts";
import { startCluster, type TestCluster } from "../shared/redis-cluster.ts";
import { publishStore } from "./store/run-store.ts";

let store: ProvisionedStore | undefined;
let cluster: TestCluster | undefined;
let dir: string | undefined;

/** One store for the whole run; every test has its own key prefix in it. Mocha takes these from `.mocharc.json`. */
export const mochaHooks = {
  async beforeAll(this: Mocha.Context): Promise<void> {
    this.timeout(60_000);
    dir = await mkdtemp(path.join(tmpdir(), "paihao-test-"));
    if (process.env.TEST_STORE === "cluster") {
      cluster = await startCluster();
      // To the server it is an external store, like any that REDIS_URL names.
      publishStore({ kind: "external", url: cluster.url });
      return;
    }
    const kind = wantedKind();
    // Without TEST_STORE: an installed server, else the embedded one.
    const redisUrl = kind === "external" ? process.env.TEST_REDIS_URL : undefined;
    store = await provisionStore({ redisUrl, store: kind, dataDir: dir }, createLog("error"));
    if (store.kind === "native") await keepInMemory(store.url);
    publishStore(store);
  },

  async afterAll(this: Mocha.Context): Promise<void> {
    this.timeout(60_000);
    await store?.stop();
    await cluster?.stop();
    if (dir !== undefined) await rm(dir, { recursive: true, force: true });
  },
};

/** Persistence would wait for the disk, for seconds if it is slow; tests of what survives a restart start their own servers. */
async function keepInMemory(url: string): Promise<void> {
  const redis = await connect(url, "test-setup", createLog("error"));
  await redis.call("CONFIG", "SET", "appendonly", "no");
  redis.disconnect();
}

/** TEST_STORE: native, embedded, cluster, or external, which requires TEST_REDIS_URL. */
function wantedKind(): StoreKind | undefined {
  const given = process.env.TEST_STORE;
  if (given === undefined || given === "") return undefined;
  const kind = STORES.find((name) => name === given);
  if (kind === undefined) throw new Error(`TEST_STORE is ${given}, expected one of ${STORES.join(", ")}, cluster`);
  if (kind === "external" && !process.env.TEST_REDIS_URL) {
    throw new Error("TEST_STORE is external but TEST_REDIS_URL is not set");
  }
  return kind;
}
