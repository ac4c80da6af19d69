import { type ChildProcess, fork } from "node:child_process";
import { randomBytes } from "node:crypto";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import { messageOf, StartError } from "../../../errors.ts";
import type { Logger } from "../../../log.ts";
import { withTimeout } from "../../../net/with-timeout.ts";
import { inheritedFlags } from "../../../node-flags.ts";
import { checkServer } from "../check-server.ts";
import { PortTakenError, startOnFreePort } from "../free-port.ts";
import { connectOnce } from "../probe.ts";
import { type ChildStore, Respawner, type StoreChild } from "../respawner.ts";
import type { EmbeddedMessage, EmbeddedOrder } from "./embedded-server.ts";

/**
 * After this long without a heartbeat, a script blocks the store, which then reads no SCRIPT KILL: only killing the process
 * helps.
 */
const FROZEN_AFTER_MS = 15_000;
const BEATS = 15;
const START_MS = 30_000;
const EXIT_MS = 2_000;
const STDERR_TAIL = 2_000;
/** Any user of this machine can connect to the port, so a password is required. */
const PASSWORD_BYTES = 32;

export interface EmbeddedStoreOptions {
  readonly log: Logger;
  readonly frozenAfterMs?: number;
}

/**
 * Starts Valkey in WebAssembly as a child process and keeps it alive on its port. Its data is only in memory, at most 512 MB,
 * and is lost when it ends. It ends with this process, however that ends.
 * @throws StartError if it does not start
 */
export async function startEmbeddedStore(options: EmbeddedStoreOptions): Promise<ChildStore> {
  const { log, frozenAfterMs = FROZEN_AFTER_MS } = options;
  let respawner: Respawner | undefined;
  try {
    const made = { password: randomBytes(PASSWORD_BYTES).toString("hex"), frozenAfterMs, log };
    const { child, port } = await startOnFreePort((free) => startEmbeddedChild(free, made));
    const kept = new Respawner(child, {
      start: () => startEmbeddedChild(port, made),
      consequence: "all its data lived in memory and is lost",
      log,
    });
    respawner = kept;
    const url = `redis://:${made.password}@127.0.0.1:${port}`;
    const version = await versionOf(url);
    return {
      url,
      description: `store: embedded Valkey ${version} (WebAssembly) on 127.0.0.1:${port}, data in memory only, lost when it stops`,
      stop: () => kept.stop(),
    };
  } catch (error) {
    await respawner?.stop();
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

/** Options shared by all processes of one store. */
type ChildOptions = Required<EmbeddedStoreOptions> & { readonly password: string };

async function startEmbeddedChild(port: number, options: ChildOptions): Promise<StoreChild> {
  const { password, frozenAfterMs, log } = options;
  const beatMs = Math.ceil(frozenAfterMs / BEATS);
  const server = forkServer(port, beatMs);
  // Not as an argument, which every user of the machine can read. If the process is already gone, its exit event reports that.
  server.send({ password } satisfies EmbeddedOrder, () => undefined);
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
    // If a script blocks it, it does not notice.
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

function forkServer(port: number, beatMs: number): ChildProcess {
  const extension = extname(fileURLToPath(import.meta.url));
  // TypeScript needs the loader of this process; compiled code needs none of its flags.
  const loader = extension === ".ts" ? inheritedFlags() : [];
  return fork(
    fileURLToPath(new URL(`./embedded-server${extension}`, import.meta.url)),
    [String(port), String(beatMs)],
    {
      // WASI is experimental in Node, which warns about it at every start.
      execArgv: [...loader, "--no-warnings"],
      // A process group of its own: Ctrl-C in the terminal must reach only the parent, which drains before it stops the store.
      detached: true,
      // Standard output is Valkey's own log, which is not needed.
      stdio: ["ignore", "ignore", "pipe", "ipc"],
    },
  );
}

/** Resolves when the process answers on its port. */
function untilReady(server: ChildProcess, gone: Promise<string>): Promise<void> {
  const ready = new Promise<void>((resolve, reject) => {
    server.on("message", (message: EmbeddedMessage) => {
      if ("ready" in message) resolve();
      if (!("failed" in message)) return;
      reject(message.code === "EADDRINUSE" ? new PortTakenError(message.failed) : new Error(message.failed));
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
