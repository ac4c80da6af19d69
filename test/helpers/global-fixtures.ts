import { spawnSync } from "node:child_process";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { build } from "../../scripts/build.ts";
import { STORES, type StoreKind } from "../../src/config/variables.ts";
import { messageOf } from "../../src/errors.ts";
import { createLog } from "../../src/log.ts";
import { connect } from "../../src/store/connection.ts";
import { provisionStore } from "../../src/store/servers/provision.ts";
import { startCluster } from "../shared/redis-cluster.ts";
import { ROOT } from "../shared/root.ts";
import { publishStores } from "./store/run-store.ts";

/** As many as `jobs` in .mocharc.cjs, so that tests of what concerns a whole server do not meet. */
const COUNT = 3;

let stop = async (): Promise<void> => {};

/** Builds once, since tests use the build, and starts the stores of the run: each test has its own key prefix in one. */
export async function mochaGlobalSetup(): Promise<void> {
  try {
    say(build(ROOT, { declarations: true }));
  } catch (error) {
    // The tests that need it fail with the same message.
    say(messageOf(error));
  }
  const dir = await mkdtemp(path.join(tmpdir(), "paihao-test-"));
  const kind = wantedKind();
  if (kind === undefined) installServer();
  const starting = Array.from({ length: COUNT }, (_, n) => startStore(kind, path.join(dir, String(n))));
  stop = async () => {
    for (const store of starting) await (await store).stop();
    await rm(dir, { recursive: true, force: true });
  };
  publishStores(await Promise.all(starting));
}

export function mochaGlobalTeardown(): Promise<void> {
  return stop();
}

async function startStore(kind: StoreKind | "cluster" | undefined, dataDir: string) {
  // To the server it is an external store, like any that REDIS_URL names.
  if (kind === "cluster") return { ...(await startCluster()), kind: "external" as const };
  await mkdir(dataDir);
  const redisUrl = kind === "external" ? process.env.TEST_REDIS_URL : undefined;
  const store = await provisionStore({ redisUrl, store: kind, dataDir }, createLog("error"));
  if (store.kind === "native") await keepInMemory(store.url);
  return store;
}

/** Persistence would wait for the disk, for seconds if it is slow; tests of what survives a restart start their own servers. */
async function keepInMemory(url: string): Promise<void> {
  const redis = await connect(url, "test-setup", createLog("error"));
  await redis.call("CONFIG", "SET", "appendonly", "no");
  redis.disconnect();
}

/** TEST_STORE: native, embedded, cluster, or external, which requires TEST_REDIS_URL; without it an installed server, else embedded. */
function wantedKind(): StoreKind | "cluster" | undefined {
  const given = process.env.TEST_STORE;
  if (given === undefined || given === "") return undefined;
  const kind = ([...STORES, "cluster"] as const).find((name) => name === given);
  if (kind === undefined) throw new Error(`TEST_STORE is ${given}, expected one of ${STORES.join(", ")}, cluster`);
  if (kind === "external" && !process.env.TEST_REDIS_URL) {
    throw new Error("TEST_STORE is external but TEST_REDIS_URL is not set");
  }
  return kind;
}

function installServer(): void {
  const { status } = spawnSync("sh", [path.join(ROOT, "scripts/install-redis.sh")], {
    stdio: ["ignore", "inherit", "inherit"],
  });
  if (status !== 0)
    say("no redis-server found: tests of a native store are skipped, all others run on the embedded one");
}

function say(line: string): void {
  process.stdout.write(`▸ ${line}\n`);
}
