import path from "node:path";
import { socketUrl } from "../../../config/redis-url.ts";
import { messageOf, StartError } from "../../../errors.ts";
import type { Logger } from "../../../log.ts";
import { type ChildStore, Respawner } from "../respawner.ts";
import { makeSocket, removeSocket } from "../socket.ts";
import { DataLock } from "./data-lock.ts";
import { startNativeChild } from "./native-child.ts";
import type { ServerBinary } from "./server-binary.ts";
import { removeSocketFile, writeSocketFile } from "./socket-file.ts";

export interface NativeStoreOptions {
  readonly binary: ServerBinary;
  /** The data directory; created if needed. */
  readonly dataDir: string;
  readonly log: Logger;
  /** Ends the start. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Starts an installed Redis or Valkey as a child, its data in an append-only file, and keeps it alive on a socket that only this
 * user can reach. It ends with this process, however that ends.
 * @throws StartError if the directory is in use or unusable, or the server does not start
 */
export async function startNativeStore(options: NativeStoreOptions): Promise<ChildStore> {
  const { binary, log, signal } = options;
  const dir = path.resolve(options.dataDir);
  const lock = await DataLock.take(dir, log);
  let socket: string | undefined;
  const release = async () => {
    if (socket !== undefined) removeSocket(socket);
    await removeSocketFile(dir);
    await lock.release();
  };
  try {
    socket = await makeSocket();
    const made = { binary, dir, lock, socket, log };
    const respawner = new Respawner(await startNativeChild({ ...made, signal }), {
      start: (signal) => startNativeChild({ ...made, signal }),
      consequence: "at most the last second of what was written is lost",
      log,
    });
    await writeSocketFile(dir, socket);
    let stopped: Promise<void> | undefined;
    return {
      url: socketUrl(socket),
      description: `store: native ${binary.name} ${binary.version} on ${socket}, data in ${dir} (append-only file)`,
      stop: () => {
        stopped ??= respawner.stop().then(release);
        return stopped;
      },
    };
  } catch (error) {
    await release();
    throw error instanceof StartError
      ? error
      : new StartError(`${binary.path} could not be started: ${messageOf(error)}`, { cause: error });
  }
}
