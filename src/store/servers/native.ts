import { randomBytes } from "node:crypto";
import path from "node:path";
import { messageOf, StartError } from "../../errors.ts";
import type { Logger } from "../../log.ts";
import { DataLock } from "./data-lock.ts";
import { startOnFreePort } from "./free-port.ts";
import { startNativeChild, urlOf } from "./native-child.ts";
import { type ChildStore, Respawner } from "./respawner.ts";
import type { ServerBinary } from "./server-binary.ts";

/** Any user of this machine may connect to a port: only who is told the password is served. */
const PASSWORD_BYTES = 32;

export interface NativeStoreOptions {
  readonly binary: ServerBinary;
  /** Where the data lives; made if it is not there. */
  readonly dataDir: string;
  readonly log: Logger;
  /** A free one if not given. */
  readonly port?: number;
}

/**
 * Starts an installed Redis or Valkey as a child, its data in an append-only file, and keeps it alive on its port.
 * It ends with this process, however that ends. The password in its URL is of this start alone, and written nowhere.
 * @throws StartError when the directory is in use or cannot be, or the server does not start
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
