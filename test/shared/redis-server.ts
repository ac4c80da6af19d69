import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { messageOf } from "../../src/errors.ts";
import { createLog } from "../../src/log.ts";
import { connectOnce, whenLoaded } from "../../src/store/servers/connect-once.ts";
import { eventually } from "./eventually.ts";
import { reservePort } from "./ports.ts";

/** A Redis for one test or benchmark, which may be killed, stopped and started again. */
export interface PrivateRedis {
  readonly url: string;
  readonly port: number;
  readonly dir: string;
  /** The pid of the running process. */
  readonly pid: number;
  readonly running: boolean;
  /** Sends the signal and resolves when the process is gone; idempotent. */
  stop(signal?: NodeJS.Signals): Promise<void>;
  /** Starts it again on its port and directory, with other arguments if given; stops it first where it runs. */
  restart(args?: string[]): Promise<void>;
}

const alive = new Set<ChildProcess>();
const madeDirs = new Set<string>();
process.on("exit", () => {
  for (const child of alive) child.kill("SIGKILL");
  for (const dir of madeDirs) rmSync(dir, { recursive: true, force: true });
});

/**
 * Starts a private redis-server and waits until it answers. Without `--appendonly yes` in `args` it keeps nothing.
 * A directory that is not given is made, and removed when the process ends.
 */
export async function startRedis(
  options: { args?: string[]; dir?: string; port?: number; env?: Readonly<Record<string, string>> } = {},
): Promise<PrivateRedis> {
  const dir = options.dir ?? (await mkdtemp(path.join(tmpdir(), "paihao-redis-")));
  if (options.dir === undefined) madeDirs.add(dir);
  const port = options.port ?? (await reservePort());
  let args = options.args ?? [];
  // A replica need not wait for others that might want the same snapshot.
  const own = ["--bind", "127.0.0.1", "--dir", dir, "--save", "", "--repl-diskless-sync-delay", "0"];
  const start = () => spawnRedis(["--port", String(port), ...own, ...args], options.env);
  let child = await start();
  const url = `redis://127.0.0.1:${port}`;
  await answers(url, child);
  const stop = async (signal: NodeJS.Signals = "SIGTERM") => {
    if (!alive.has(child)) return;
    const gone = once(child, "exit");
    child.kill(signal);
    // A process under SIGSTOP handles SIGTERM only after SIGCONT.
    child.kill("SIGCONT");
    // A replica refuses to end as long as it writes its first append-only file.
    const again = setInterval(() => child.kill(signal), 500);
    await gone.finally(() => clearInterval(again));
  };
  return {
    stop,
    url,
    port,
    dir,
    get pid() {
      return child.pid ?? Number.NaN;
    },
    get running() {
      return alive.has(child);
    },
    async restart(others) {
      await stop();
      args = others ?? args;
      child = await start();
      await answers(url, child);
    },
  };
}

async function spawnRedis(args: string[], env: Readonly<Record<string, string>> = {}): Promise<ChildProcess> {
  const child = spawn("redis-server", args, { stdio: "ignore", env: { ...process.env, ...env } });
  await once(child, "spawn");
  // A server that a test forgot must not keep this process alive; the exit hook above ends it.
  child.unref();
  alive.add(child);
  child.once("exit", () => alive.delete(child));
  return child;
}

/** Waits until the server has loaded its data and answers; a request for a password counts as an answer. */
async function answers(url: string, child: ChildProcess): Promise<void> {
  await eventually(async () => {
    if (!alive.has(child)) return;
    try {
      const redis = await connectOnce(url);
      await whenLoaded(redis, createLog("silent")).finally(() => redis.disconnect());
    } catch (error) {
      if (!messageOf(error).startsWith("NOAUTH")) throw error;
    }
  });
  if (!alive.has(child)) throw new Error(`redis-server ended at once; is ${url} taken, or an argument wrong?`);
}
