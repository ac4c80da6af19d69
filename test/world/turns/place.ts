import { existsSync, mkdtempSync } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { exchange } from "../../helpers/http/server.ts";
import { endProcesses, type ServerProcess, startProcess } from "../../helpers/server-process.ts";
import { uniquePrefix } from "../../helpers/store/run-store.ts";
import { reservePort } from "../../shared/ports.ts";
import { type PrivateRedis, startRedis } from "../../shared/redis-server.ts";
import type { Send } from "./caller.ts";

/** In memory if possible: what survives the end of a process is the same, and no slow disk delays the store. */
const DATA = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();

/** Two servers with the queue of turns `gpu`, and a Redis that keeps what it has acknowledged; all can be killed and started again. */
export interface Place {
  readonly redis: PrivateRedis;
  /** Where the servers are, whether they run or not. */
  readonly urls: readonly string[];
  /** To the first server that is there. */
  readonly send: Send;
  /** To one of them. */
  sendTo(server: number, ...sent: Parameters<Send>): ReturnType<Send>;
  /** Starts a server, or starts it again. */
  start(server: number, env?: Readonly<Record<string, string>>): Promise<void>;
  kill(...servers: number[]): Promise<void>;
  close(): Promise<void>;
}

export async function openPlace(
  envs: readonly Readonly<Record<string, string>>[] = [{}, {}],
  turns: Readonly<Record<string, unknown>> = { turns: 1 },
): Promise<Place> {
  const dir = mkdtempSync(path.join(DATA, "paihao-turns-"));
  await writeFile(path.join(dir, "queues.json"), JSON.stringify({ gpu: turns }));
  const redis = await startRedis({ args: ["--appendonly", "yes", "--appendfsync", "always"] });
  const ports = await Promise.all(envs.map(reservePort));
  const urls = ports.map((port) => `http://127.0.0.1:${port}`);
  const usual = { REDIS_URL: redis.url, KEY_PREFIX: uniquePrefix(), HANDLERS: dir };
  const running: (ServerProcess | undefined)[] = envs.map(() => undefined);
  const sendTo: Place["sendTo"] = (server, at, sent) => exchange(new URL(at, urls[server]), sent);
  const place: Place = {
    ...{ redis, urls, sendTo },
    send: (...sent) => sendTo(Math.max(0, running.findIndex(Boolean)), ...sent),
    async start(server, env = {}) {
      running[server] = await startProcess({ ...usual, PORT: String(ports[server]), ...envs[server], ...env });
    },
    async kill(...servers) {
      const ended = servers.flatMap((server) => running[server] ?? []);
      for (const server of servers) running[server] = undefined;
      await endProcesses(ended);
    },
    async close() {
      await endProcesses(running.filter((server) => server !== undefined));
      await redis.stop("SIGKILL");
      await rm(dir, { recursive: true });
    },
  };
  await Promise.all(envs.map((_, server) => place.start(server)));
  return place;
}
