import type { Config } from "../../config/config.ts";
import { socketUrl } from "../../config/redis-url.ts";
import type { StoreKind } from "../../config/variables.ts";
import { StartError } from "../../errors.ts";
import type { Logger } from "../../log.ts";
import { MINIMUM_REDIS } from "./check-server.ts";
import { startEmbeddedStore } from "./embedded/embedded.ts";
import { probeExternal } from "./external.ts";
import { DirectoryInUseError } from "./native/data-lock.ts";
import { startNativeStore } from "./native/native.ts";
import { findServerBinary } from "./native/server-binary.ts";
import { readSocketFile } from "./socket.ts";

/** The store of this start. */
export interface ProvisionedStore {
  readonly kind: StoreKind;
  /** For every process of this server; may contain a password. */
  readonly url: string;
  /** One line that says which store it is and where its data is; never contains a password. */
  readonly description: string;
  /** Stops a store that was started for this process, and resolves when it is gone; idempotent. */
  stop(): Promise<void>;
}

const INSTALL = "install one, e.g. with `apt-get install redis-server` or `brew install redis`";

/**
 * Provides the store: the Redis of REDIS_URL, else an installed server as a child process, else the embedded one.
 * @param signal ends the start where that may take long; an embedded store is there in a second
 * @throws StartError with a message for the operator, also if the kind that `store` requires is not available
 */
export async function provisionStore(
  config: Pick<Config, "redisUrl" | "store" | "dataDir">,
  log: Logger,
  signal?: AbortSignal,
): Promise<ProvisionedStore> {
  const kind = config.store ?? (config.redisUrl === undefined ? undefined : "external");
  if (kind === "external") {
    const url = config.redisUrl;
    if (url === undefined)
      throw new StartError("STORE is external but REDIS_URL is not set, expected redis://host:port");
    return { kind, url, description: await probeExternal(url, log, undefined, signal), stop: async () => {} };
  }
  if (kind !== "embedded") {
    const { binary, rejected } = await findServerBinary(log);
    if (binary !== undefined) {
      return { kind: "native", ...(await startNativeStore({ binary, dataDir: config.dataDir, log, signal })) };
    }
    if (kind === "native") {
      const found = rejected.length > 0 ? rejected.join("; ") : "there is no redis-server or valkey-server on PATH";
      throw new StartError(`STORE is native, but ${found}; ${INSTALL}, version ${MINIMUM_REDIS} or later`);
    }
  }
  return { kind: "embedded", ...(await startEmbeddedStore({ log })) };
}

/**
 * The store for a command that works while servers run: that of the server that uses the data directory, if there is one; otherwise as
 * {@link provisionStore} provides it.
 * @throws StartError
 */
export async function attachStore(
  config: Pick<Config, "redisUrl" | "store" | "dataDir">,
  log: Logger,
): Promise<ProvisionedStore> {
  try {
    return await provisionStore(config, log);
  } catch (error) {
    if (!(error instanceof DirectoryInUseError)) throw error;
    const socket = await readSocketFile(config.dataDir);
    if (socket === undefined) throw error;
    return {
      kind: "native",
      url: socketUrl(socket),
      description: `store: native, of the server with process id ${error.pid}, data in ${config.dataDir}`,
      stop: async () => {},
    };
  }
}
