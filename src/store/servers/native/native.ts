import { randomBytes } from "node:crypto";
import path from "node:path";
import { messageOf, StartError } from "../../../errors.ts";
import type { Logger } from "../../../log.ts";
import { startOnFreePort } from "../free-port.ts";
import { type ChildStore, Respawner } from "../respawner.ts";
import { DataLock } from "./data-lock.ts";
import { startNativeChild, urlOf } from "./native-child.ts";
import type { ServerBinary } from "./server-binary.ts";

/** Any user of this machine can connect to the port, so a password is required. */
const PASSWORD_BYTES = 32;

export interface NativeStoreOptions {
  readonly binary: ServerBinary;
  /** The data directory; created if needed. */
  readonly dataDir: string;
  readonly log: Logger;
  /** Default: a free one. */
  readonly port?: number;
}

/**
 * Starts an installed Redis or Valkey as a child, its data in an append-only file, and keeps it alive on its port. It ends with
 * this process, however that ends. The password in its URL is new at each start and written nowhere.
 * @throws StartError if the directory is in use or unusable, or the server does not start
 */
export async function startNativeStore(options: NativeStoreOptions): Promise<ChildStore> {
  const { binary, log, port: wanted } = options;
  const dir = path.resolve(options.dataDir);
  const lock = await DataLock.take(dir, log);
  try {
    const password = randomBytes(PASSWORD_BYTES).toString("hex");
    const made = { binary, dir, lock, password, log };
    const { child, port } =
      wanted === undefined
        ? await startOnFreePort((free) => startNativeChild({ ...made, port: free }))
        : { child: await startNativeChild({ ...made, port: wanted }), port: wanted };
    const respawner = new Respawner(child, {
      start: (signal) => startNativeChild({ ...made, port, signal }),
      consequence: "at most the last second of what was written is lost",
      log,
    });
    let stopped: Promise<void> | undefined;
    return {
      url: urlOf(port, password),
      description: `store: native ${binary.name} ${binary.version} on 127.0.0.1:${port}, data in ${dir} (append-only file)`,
      stop: () => {
        stopped ??= respawner.stop().then(() => lock.release());
        return stopped;
      },
    };
  } catch (error) {
    await lock.release();
    throw error instanceof StartError
      ? error
      : new StartError(`${binary.path} could not be started: ${messageOf(error)}`, { cause: error });
  }
}
