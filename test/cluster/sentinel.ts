import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { Redis } from "ioredis";
import { eventually } from "../shared/eventually.ts";
import { reservePort } from "../shared/ports.ts";
import { type PrivateRedis, startRedis } from "../shared/redis-server.ts";

/** A master with a replica, and sentinels that watch them. */
export interface SentinelSetup {
  /** For REDIS_URL. */
  readonly url: string;
  readonly servers: readonly PrivateRedis[];
  /** The one that the sentinels say is the master now. */
  master(): Promise<PrivateRedis>;
  /** Asks for another master though this one is well. */
  failover(): Promise<void>;
  stop(): Promise<void>;
}

const NAME = "mymaster";

/** Starts two servers and three sentinels, with a password of their own if one is given, that give a master up when it was silent for a second. */
export async function startSentinels({ password = "" } = {}): Promise<SentinelSetup> {
  const dir = await mkdtemp(path.join(tmpdir(), "paihao-sentinel-"));
  const servers: PrivateRedis[] = [];
  const sentinels: ChildProcess[] = [];
  let asker: Redis | undefined;
  const stop = async () => {
    asker?.disconnect();
    await Promise.all([...sentinels.map((child) => killed(child)), ...servers.map((server) => server.stop("SIGKILL"))]);
    await rm(dir, { recursive: true, force: true });
  };
  try {
    const master = await startRedis({ args: ["--repl-diskless-sync-delay", "0"] });
    servers.push(master);
    servers.push(
      await startRedis({ args: ["--replicaof", "127.0.0.1", String(master.port), "--repl-diskless-sync-delay", "0"] }),
    );
    const ports: number[] = [];
    for (let n = 0; n < 3; n += 1) {
      const port = await reservePort();
      ports.push(port);
      sentinels.push(await startSentinel(path.join(dir, `sentinel-${n}.conf`), port, master.port, password));
    }
    asker = new Redis(ports[0] ?? 0, "127.0.0.1", { maxRetriesPerRequest: 1, password, retryStrategy: () => 100 });
    asker.on("error", () => undefined);
    const sentinel = asker;
    // They know of each other and of the replica: only then is there anyone to take over.
    await eventually(async () => {
      const fields = (await sentinel.call("SENTINEL", "MASTER", NAME)) as string[];
      const of = (name: string) => Number(fields[fields.indexOf(name) + 1]);
      return of("num-slaves") === 1 && of("num-other-sentinels") === 2;
    });
    return {
      url: `redis+sentinel://${ports.map((port) => `127.0.0.1:${port}`).join(",")}/${NAME}`,
      servers,
      stop,
      async failover() {
        await sentinel.call("SENTINEL", "FAILOVER", NAME);
      },
      async master() {
        const [, port] = (await sentinel.call("SENTINEL", "GET-MASTER-ADDR-BY-NAME", NAME)) as string[];
        const found = servers.find((server) => server.port === Number(port));
        if (!found) throw new Error("the sentinels know no master of ours");
        return found;
      },
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function startSentinel(config: string, port: number, master: number, password: string): Promise<ChildProcess> {
  const lines = [
    ...[`port ${port}`, "bind 127.0.0.1", `dir ${path.dirname(config)}`],
    ...[`sentinel monitor ${NAME} 127.0.0.1 ${master} 2`, `sentinel down-after-milliseconds ${NAME} 1000`],
    `sentinel failover-timeout ${NAME} 3000`,
    ...(password === "" ? [] : [`requirepass ${password}`, `sentinel sentinel-pass ${password}`]),
  ];
  await writeFile(config, `${lines.join("\n")}\n`);
  const child = spawn("redis-server", [config, "--sentinel"], { stdio: "ignore" });
  process.once("exit", () => child.kill("SIGKILL"));
  await once(child, "spawn");
  child.unref();
  return child;
}

async function killed(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, "exit");
  child.kill("SIGKILL");
  await gone;
}
