import { spawn } from "node:child_process";
import { closeSync, fstatSync, ftruncateSync, openSync } from "node:fs";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { socketUrl } from "../../../config/redis-url.ts";
import { messageOf, StartError } from "../../../errors.ts";
import type { Logger } from "../../../log.ts";
import { connectOnce, whenLoaded } from "../connect-once.ts";
import { type ChildStore, Respawner, type StoreChild } from "../respawner.ts";
import { makeSocket, removeSocket, removeSocketFile, writeSocketFile } from "../socket.ts";
import { DataLock } from "./data-lock.ts";
import type { ServerBinary } from "./server-binary.ts";

/** How long a server may take to answer for the first time, not counting the loading of its data. */
const ANSWER_MS = 60_000;
/** How long a server may take to write its data and exit. */
const EXIT_MS = 60_000;
const POLL_MS = 25;
/** A log file larger than this is emptied at the next start. */
const LOG_MAX_BYTES = 1024 ** 2;
const LOG_TAIL_LINES = 5;

/**
 * Runs the server and stops it when standard input ends, which the system closes however the parent dies. It starts the server only after
 * the parent has written its lock and then a line. Only the server keeps descriptor 3, so that it closes when the server is gone, even if
 * the wrapper was killed before. The wrapper ignores signals to the process group, since it must stay alive to stop the server. It repeats
 * TERM until it works, since the server inherits the ignored signals while it starts. If the parent is gone, it removes the folder of the
 * socket.
 */
const WRAPPER = `
trap '' INT TERM HUP
umask 077
folder=$1
shift
read -r start || { rmdir "$folder" 2>/dev/null; exit 0; }
exec 4<&0
"$@" </dev/null 4<&- &
server=$!
exec 3>&-
{ while read -r ignored <&4; do :; done; while kill -TERM "$server" 2>/dev/null; do sleep 1; done; } &
reader=$!
wait "$server"
status=$?
kill -KILL "$reader" 2>/dev/null
parent=$(ps -o ppid= -p $$ 2>/dev/null)
[ "\${parent:-$PPID}" -eq "$PPID" ] || rmdir "$folder" 2>/dev/null
exit "$status"
`;

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

interface NativeChildOptions {
  readonly binary: ServerBinary;
  /** Absolute; locked by `lock`. */
  readonly dir: string;
  readonly lock: DataLock;
  /** Where it listens. */
  readonly socket: string;
  readonly log: Logger;
  readonly signal?: AbortSignal | undefined;
}

/** Where the server writes its own log. */
function logFileOf(dir: string): string {
  return path.join(dir, "store.log");
}

/**
 * Starts a server with its data in `dir`, and waits until it has loaded its data and answers.
 * @throws Error with the last lines of the server's log
 */
async function startNativeChild(options: NativeChildOptions): Promise<StoreChild> {
  const { binary, dir, lock, socket } = options;
  const output = openSync(logFileOf(dir), "a", 0o600);
  if (fstatSync(output).size > LOG_MAX_BYTES) ftruncateSync(output);
  const logStart = fstatSync(output).size;
  // A process group of its own: Ctrl-C in the terminal must reach only the parent, which drains before it stops the store.
  const command = [path.dirname(socket), binary.path, ...settings(dir, socket)];
  const wrapper = spawn("/bin/sh", ["-c", WRAPPER, "store", ...command], {
    cwd: dir,
    detached: true,
    stdio: ["pipe", output, output, "pipe"],
  });
  closeSync(output);
  const { pid, stdin } = wrapper;
  // Not "exit": a server that is left over when its wrapper is killed would remove the socket of the next one.
  const exited = new Promise<string>((resolve) => {
    wrapper.on("close", (code, signal) => resolve(describeExit(code, signal)));
    wrapper.on("error", (error) => resolve(messageOf(error)));
  });
  // The wrapper may be gone before it reads; its exit event reports that.
  stdin?.on("error", () => {});
  const covered = pid === undefined ? undefined : lock.cover(pid);
  let running = true;
  const gone = exited.then(async (how) => {
    running = false;
    await (await covered?.catch(() => undefined))?.();
    return how;
  });
  const stop = async () => {
    stdin?.end();
    const late = setTimeout(() => pid !== undefined && running && process.kill(-pid, "SIGKILL"), EXIT_MS);
    await gone;
    clearTimeout(late);
  };
  try {
    await covered;
    stdin?.write("start\n");
    await untilReady(options, () => wrapper.exitCode === null && wrapper.signalCode === null);
    return { gone, stop };
  } catch (error) {
    await stop();
    const lines = await endOf(logFileOf(dir), logStart);
    throw new Error(`${messageOf(error)}${lines === "" ? "" : `; its last log lines:\n${lines}`}`, { cause: error });
  }
}

function settings(dir: string, socket: string): string[] {
  const values: Record<string, string> = {
    port: "0",
    unixsocket: socket,
    unixsocketperm: "700",
    dir,
    daemonize: "no",
    save: "",
    appendonly: "yes",
    appendfsync: "everysec",
    "maxmemory-policy": "noeviction",
    // Little is logged, since the log is not rotated while the server runs.
    loglevel: "warning",
    logfile: "",
  };
  return Object.entries(values).flatMap(([name, value]) => [`--${name}`, value]);
}

/** Waits until the server answers PING. */
async function untilReady(options: NativeChildOptions, isRunning: () => boolean): Promise<void> {
  const { socket, log, signal } = options;
  let silentSince = performance.now();
  for (;;) {
    try {
      const redis = await connectOnce(socketUrl(socket));
      try {
        return await whenLoaded(redis, log, signal);
      } finally {
        redis.disconnect();
        silentSince = performance.now();
      }
    } catch (error) {
      signal?.throwIfAborted();
      if (performance.now() - silentSince > ANSWER_MS) throw new Error("the server does not answer", { cause: error });
    }
    if (!isRunning()) throw new Error("the server ended at once");
    await delay(POLL_MS, undefined, { signal });
  }
}

function describeExit(code: number | null, signal: NodeJS.Signals | null): string {
  if (signal !== null) return `its wrapper was ended by ${signal}`;
  // A shell reports 128 plus the number of the signal that ended a process.
  return code !== null && code > 128 ? `ended by signal ${code - 128}` : `ended with status ${code}`;
}

/** The last lines of a file, from `start` on. */
async function endOf(file: string, start: number): Promise<string> {
  const text = (await readFile(file)).subarray(start).toString("utf8");
  return text.trim().split("\n").slice(-LOG_TAIL_LINES).join("\n");
}
