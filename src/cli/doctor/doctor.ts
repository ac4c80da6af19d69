import { existsSync } from "node:fs";
import { type Config, readConfig } from "../../config/config.ts";
import { messageOf, StartError } from "../../errors.ts";
import { createLog, type Logger } from "../../log.ts";
import { connectOnce } from "../../store/servers/connect-once.ts";
import { DirectoryInUseError } from "../../store/servers/native/data-lock.ts";
import { findServerBinary } from "../../store/servers/native/server-binary.ts";
import { attachStore, type ProvisionedStore } from "../../store/servers/provision.ts";
import { type Finding, failure, ok, warning } from "./finding.ts";
import { checkHandlers, checkKeys, checkNode, checkPort, checkVariables } from "./setup.ts";
import { checkAccess, checkDataVersion, checkIndex, checkPartitions, checkQueues, checkStore } from "./store.ts";

/** Runs all checks in order, and yields each finding as soon as it is known. */
export async function* examine({ heal }: { readonly heal: boolean }): AsyncGenerator<Finding> {
  yield checkNode(process.versions.node);
  let config: Config;
  try {
    config = readConfig();
  } catch (error) {
    if (!(error instanceof StartError)) throw error;
    yield failure("settings", messageOf(error), "correct it in the environment or in .env");
    return;
  }
  yield ok("settings", "read");
  yield* checkVariables();
  const { finding, queues } = await checkHandlers(config);
  yield finding;
  const keys = checkKeys(config);
  if (keys) yield keys;
  yield await checkPort(config, queues);
  yield* examineStore(config, heal, new Set(queues));
}

async function* examineStore(config: Config, heal: boolean, handled: ReadonlySet<string>): AsyncGenerator<Finding> {
  const log = createLog("silent");
  const { finding, store } = await openStore(config, log);
  yield finding;
  if (!store) return;
  try {
    const connection = await connectOnce(store.url);
    try {
      const { findings, version } = await checkStore(connection, config);
      yield* findings;
      if (version === undefined) return;
      const access = await checkAccess(connection, config);
      yield* access;
      const data = await checkDataVersion(connection, config);
      if (data) yield data;
      if (data?.level === "error") return;
      const partitions = await checkPartitions(connection, config);
      if (partitions) yield partitions;
      // The other checks run scripts.
      if (!access.some(({ check, level }) => check === "writes" && level === "ok")) return;
      yield partitions ? await checkIndex(store.url, config, heal, log) : ok("index", "nothing is stored yet");
      if (partitions?.level === "ok") yield* await checkQueues(connection, config, handled);
    } finally {
      connection.disconnect();
    }
  } catch (error) {
    yield failure("store", `the store stopped answering: ${messageOf(error)}`, "see its log, and run this again");
  } finally {
    await store.stop();
  }
}

/** The store that the server would use; undefined if there is none to examine. */
async function openStore(config: Config, log: Logger): Promise<{ finding: Finding; store?: ProvisionedStore }> {
  const check = "store";
  const kind = config.store ?? (config.redisUrl === undefined ? "native" : "external");
  if (kind !== "external") {
    const { binary } = kind === "native" ? await findServerBinary(log) : { binary: undefined };
    if (!binary) {
      const required = config.store === "native";
      const advice = "install redis-server (apt-get install redis-server, brew install redis), or set REDIS_URL";
      const message = required
        ? "STORE is native, but there is no usable redis-server or valkey-server on PATH"
        : "embedded: suitable for trying things out; its data is in memory only";
      return { finding: (required ? failure : warning)(check, message, advice) };
    }
    const text = `native: ${binary.name} ${binary.version}, started with the server, data in ${config.dataDir}`;
    // Starting it would create the directory.
    if (!existsSync(config.dataDir)) return { finding: ok(check, `${text} (does not exist yet)`) };
  }
  try {
    const store = await attachStore(config, log);
    return { finding: ok(check, store.description.replace(/^store: /, "")), store };
  } catch (error) {
    if (!(error instanceof StartError)) throw error;
    if (error instanceof DirectoryInUseError) {
      const text = `native, data in ${config.dataDir}, in use by process ${error.pid}; not examined while that process runs`;
      return { finding: ok(check, text) };
    }
    return { finding: failure(check, messageOf(error), "see the settings of the store in .env.example") };
  }
}
