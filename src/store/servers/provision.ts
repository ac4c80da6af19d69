import type { Config, StoreKind } from "../../config/config.ts";
import { StartError } from "../../errors.ts";
import type { Logger } from "../../log.ts";
import { MINIMUM_REDIS } from "./check-server.ts";
import { startEmbeddedStore } from "./embedded.ts";
import { probeExternal } from "./external.ts";
import { startNativeStore } from "./native.ts";
import { findServerBinary } from "./server-binary.ts";

/** The store of this start. */
export interface ProvisionedStore {
  readonly kind: StoreKind;
  /** For every process of this server; may hold a password. */
  readonly url: string;
  /** The one line that says which store it is and where the data lives; never holds a password. */
  readonly description: string;
  /** Ends a store that was started for this process, and resolves when it is gone; idempotent. */
  stop(): Promise<void>;
}

const INSTALL = "install one, e.g. with `apt-get install redis-server` or `brew install redis`";

/**
 * Provides the store: the Redis of REDIS_URL, else one that is installed here, as a child, else an embedded one.
 * @throws StartError with a message for a person, also when the kind that `store` forces cannot be had
 */
export async function provisionStore(
  config: Pick<Config, "redisUrl" | "store" | "dataDir">,
  log: Logger,
): Promise<ProvisionedStore> {
  const kind = config.store ?? (config.redisUrl === undefined ? undefined : "external");
  if (kind === "external") {
    const url = config.redisUrl;
    if (url === undefined)
      throw new StartError("STORE is external but REDIS_URL is not set, expected redis://host:port");
    return { kind, url, description: await probeExternal(url, log), stop: async () => {} };
  }
  if (kind !== "embedded") {
    const { fit: binary, unfit } = await findServerBinary(log);
    if (binary !== undefined) {
      return { kind: "native", ...(await startNativeStore({ binary, dataDir: config.dataDir, log })) };
    }
    if (kind === "native") {
      const found = unfit.length > 0 ? unfit.join("; ") : "there is no redis-server or valkey-server on PATH";
      throw new StartError(`STORE is native, but ${found}; ${INSTALL}, version ${MINIMUM_REDIS} or later`);
    }
  }
  return { kind: "embedded", ...(await startEmbeddedStore({ log })) };
}
