import { type ChildProcess, fork } from "node:child_process";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import { inheritedFlags } from "../../../config/node-flags.ts";
import { socketUrl } from "../../../config/redis-url.ts";
import { messageOf, StartError } from "../../../errors.ts";
import type { Logger } from "../../../log.ts";
import { withTimeout } from "../../../net/deadline.ts";
import { checkServer } from "../check-server.ts";
import { connectOnce } from "../connect-once.ts";
import { type ChildStore, Respawner, type StoreChild } from "../respawner.ts";
import { makeSocket, removeSocket } from "../socket.ts";
import type { EmbeddedMessage } from "./embedded-server.ts";

/**
 * After this long without a heartbeat, a script blocks the store, which then reads no SCRIPT KILL: only killing the process
 * helps.
 */
const FROZEN_AFTER_MS = 15_000;
const BEATS = 15;
const START_MS = 30_000;
const EXIT_MS = 2_000;
const STDERR_TAIL = 2_000;

export interface EmbeddedStoreOptions {
  readonly log: Logger;
  readonly frozenAfterMs?: number;
}

/**
 * Starts Valkey in WebAssembly as a child process and keeps it alive on a socket that only this user can reach. Its data is only
 * in memory, at most 512 MB, and is lost when it ends. It ends with this process, however that ends.
 * @throws StartError if it does not start
 */
export async function startEmbeddedStore(options: EmbeddedStoreOptions): Promise<ChildStore> {
  const { log, frozenAfterMs = FROZEN_AFTER_MS } = options;
  const socket = await makeSocket();
  let respawner: Respawner | undefined;
  const stop = async () => {
    await respawner?.stop();
    removeSocket(socket);
  };
  try {
    const start = () => startEmbeddedChild(socket, { frozenAfterMs, log });
    respawner = new Respawner(await start(), {
      start,
      consequence: "all its data lived in memory and is lost",
      log,
    });
    const url = socketUrl(socket);
    const version = await versionOf(url);
    return {
      url,
      description: `store: embedded Valkey ${version} (WebAssembly) on ${socket}, data in memory only, lost when it stops`,
      stop,
    };
  } catch (error) {
    await stop();
    throw new StartError(`the embedded store could not be started: ${messageOf(error)}`, { cause: error });
  }
}

async function versionOf(url: string): Promise<string> {
  const redis = await connectOnce(url);
  try {
    await redis.ping();
    return (await checkServer(redis)).version;
  } finally {
    redis.disconnect();
  }
}

async function startEmbeddedChild(socket: string, options: Required<EmbeddedStoreOptions>): Promise<StoreChild> {
  const { frozenAfterMs, log } = options;
  const beatMs = Math.ceil(frozenAfterMs / BEATS);
  const server = forkServer(socket, beatMs);
  let stderr = "";
  server.stderr?.on("data", (text: Buffer) => {
    stderr = (stderr + text).slice(-STDERR_TAIL);
  });
  const gone = new Promise<string>((resolve) => {
    server.on("exit", (code, signal) => resolve(`${signal ?? `status ${code}`}${stderr && `, ${stderr.trim()}`}`));
    server.on("error", (error) => resolve(messageOf(error)));
  });
  const stop = async () => {
    if (server.connected) server.disconnect();
    // It does not react while a script blocks it.
    const late = setTimeout(() => server.kill("SIGKILL"), EXIT_MS);
    await gone;
    clearTimeout(late);
  };
  try {
    await untilReady(server, gone);
  } catch (error) {
    await stop();
    throw error;
  }
  watch(server, gone, beatMs, log);
  return { gone, stop };
}

function forkServer(socket: string, beatMs: number): ChildProcess {
  const extension = extname(fileURLToPath(import.meta.url));
  // TypeScript needs the loader of this process; compiled code needs no flags.
  const loader = extension === ".ts" ? inheritedFlags() : [];
  return fork(fileURLToPath(new URL(`./embedded-server${extension}`, import.meta.url)), [socket, String(beatMs)], {
    // WASI is experimental in Node, which warns about it at every start.
    execArgv: [...loader, "--no-warnings"],
    // A process group of its own: Ctrl-C in the terminal must reach only the parent, which drains before it stops the store.
    detached: true,
    // Standard output is Valkey's own log, which nobody needs.
    stdio: ["ignore", "ignore", "pipe", "ipc"],
  });
}

/** Resolves when the process answers on its socket. */
function untilReady(server: ChildProcess, gone: Promise<string>): Promise<void> {
  const ready = new Promise<void>((resolve, reject) => {
    server.on("message", (message: EmbeddedMessage) => {
      if ("ready" in message) resolve();
      if ("failed" in message) reject(new Error(message.failed));
    });
    void gone.then((how) => reject(new Error(`it ended at once: ${how}`)));
  });
  return withTimeout(START_MS, ready, () => new Error(`it did not answer within ${START_MS / 1000} s`));
}

/**
 * Kills a process without heartbeats. Missed beats are counted, not timed, since this process may itself have been suspended.
 */
function watch(server: ChildProcess, gone: Promise<string>, beatMs: number, log: Logger): void {
  let missed = 0;
  server.on("message", () => {
    missed = 0;
  });
  const timer = setInterval(() => {
    if (++missed <= BEATS) return;
    clearInterval(timer);
    log.error(
      `the embedded store has not answered for ${(beatMs * BEATS) / 1000} s, probably because of an endless script; killing it`,
    );
    server.kill("SIGKILL");
  }, beatMs);
  void gone.then(() => clearInterval(timer));
}
