import { existsSync, mkdtempSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { Redis } from "ioredis";
import { compileHandlers } from "../helpers/compiled-handlers.ts";
import { openEngine, type TestEngine } from "../helpers/engine.ts";
import { endProcesses, type ServerProcess, startProcess } from "../helpers/server-process.ts";
import { uniquePrefix } from "../helpers/store/run-store.ts";
import { startTcpProxy, type TcpProxy } from "../helpers/tcp-proxy.ts";
import { type PrivateRedis, startRedis } from "../shared/redis-server.ts";
import { Journal } from "./journal.ts";

/** Nothing that was acknowledged may be lost by a crash. */
const DURABLE = ["--appendonly", "yes", "--appendfsync", "always"];
/** For so long a Redis that has crashed is away, ms. */
const DOWN_MS = 1000;
/** Worker processes that are kept running. */
const WORKERS = 2;
/** Pause before a worker that could not start is started again, ms. */
const RESPAWN_MS = 200;

/** A Redis, an API process and two worker processes between which faults happen, and an observer beside them. */
export class World {
  readonly journal = new Journal();
  /** The worker processes that run now. */
  readonly workers: ServerProcess[] = [];
  /** Through which the servers reach Redis. */
  readonly proxy: TcpProxy;
  /** Looks at the store by a way of its own, which faults of the network do not touch. */
  readonly observer: TestEngine;
  redis: PrivateRedis;
  #api: ServerProcess | undefined;
  readonly #side: TcpProxy;
  readonly #admins = new Map<number, Redis>();
  readonly #handlers = mkdtempSync(path.join(tmpdir(), "paihao-chaos-handlers-"));
  readonly #ending = new AbortController();

  private constructor(parts: { redis: PrivateRedis; proxy: TcpProxy; side: TcpProxy; observer: TestEngine }) {
    this.redis = parts.redis;
    this.proxy = parts.proxy;
    this.#side = parts.side;
    this.observer = parts.observer;
    compileHandlers(path.join(import.meta.dirname, "handlers"), this.#handlers);
  }

  /** Starts everything and waits until it is ready. */
  static async start(): Promise<World> {
    const redis = await startDurable([]);
    const [proxy, side] = await Promise.all([startTcpProxy(redis.port), startTcpProxy(redis.port)]);
    const observer = await openEngine({ url: urlOf(side), prefix: uniquePrefix() });
    const world = new World({ redis, proxy, side, observer });
    try {
      await Promise.all([world.startApi(), ...Array.from({ length: WORKERS }, () => world.#keepWorker())]);
      return world;
    } catch (error) {
      await world.stop();
      throw error;
    }
  }

  /** Fires when it is stopped: whoever still does something to it is to leave off. */
  get ending(): AbortSignal {
    return this.#ending.signal;
  }

  /** The API process. */
  get api(): ServerProcess {
    if (!this.#api) throw new Error("there is no API process");
    return this.#api;
  }

  /** Commands to the Redis that is the master now, as an operator gives them. */
  get admin(): Redis {
    return this.adminOf(this.redis);
  }

  adminOf({ port, url }: PrivateRedis): Redis {
    let admin = this.#admins.get(port);
    if (!admin) {
      admin = new Redis(url, { maxRetriesPerRequest: null, retryStrategy: () => 50 });
      admin.on("error", () => undefined);
      this.#admins.set(port, admin);
    }
    return admin;
  }

  /** A connection of the observer's, to listen on; whoever asks for it disconnects it. */
  watch(): Redis {
    const listener = new Redis(urlOf(this.#side), { maxRetriesPerRequest: null, retryStrategy: () => 50 });
    listener.on("error", () => undefined);
    return listener;
  }

  async startApi(env: Readonly<Record<string, string>> = {}): Promise<void> {
    this.#api = await this.#start("api", { PORT: "0", ...env });
  }

  /** Ends the API process and starts another one. */
  async replaceApi(env: Readonly<Record<string, string>> = {}): Promise<void> {
    await endProcesses([this.api]);
    await this.startApi(env);
  }

  /** One more worker, for as long as it lives. */
  startWorker(env: Readonly<Record<string, string>> = {}): Promise<ServerProcess> {
    return this.#start("worker", env);
  }

  /** Ends Redis at once and starts it again on what it has on disk, or on nothing. */
  async crashRedis(options: { empty: boolean }): Promise<void> {
    await this.redis.stop("SIGKILL");
    if (options.empty) await rm(path.join(this.redis.dir, "appendonlydir"), { recursive: true });
    await delay(DOWN_MS);
    await this.redis.restart(DURABLE);
  }

  /** A Redis that follows the master, in step with it; by another way to it if a port is given. */
  async startReplica(port = this.redis.port): Promise<PrivateRedis> {
    const replica = await startDurable(["--replicaof", "127.0.0.1", String(port)]);
    await this.inStep(replica);
    return replica;
  }

  /** Resolves when a replica has everything that the master has now. */
  async inStep(replica: PrivateRedis): Promise<void> {
    const field = async (redis: Redis, name: string) =>
      new RegExp(`^${name}:(\\S+)`, "m").exec(await redis.info("replication"))?.[1] ?? "";
    const offset = Number(await field(this.admin, "master_repl_offset"));
    for (;;) {
      const online = (await field(this.admin, "slave0")).includes("state=online");
      if (online && Number(await field(this.adminOf(replica), "slave_repl_offset")) >= offset) return;
      await delay(20);
    }
  }

  /** From now on the servers' address leads to another Redis, as after a failover; the old one is ended. */
  async moveTo(redis: PrivateRedis): Promise<void> {
    const old = this.redis;
    this.redis = redis;
    this.proxy.target(redis.port);
    this.#side.target(redis.port);
    this.#side.cut();
    this.#admins.get(old.port)?.disconnect();
    this.#admins.delete(old.port);
    await old.stop("SIGKILL");
    await rm(old.dir, { recursive: true });
  }

  /** Ends everything, whatever state it is in. */
  async stop(): Promise<void> {
    this.#ending.abort();
    await endProcesses([...(this.#api ? [this.#api] : []), ...this.workers]);
    await this.observer.close().catch(() => undefined);
    await this.redis.stop("SIGKILL");
    await Promise.all([this.redis.dir, this.#handlers].map((dir) => rm(dir, { recursive: true })));
    for (const admin of this.#admins.values()) admin.disconnect();
    await Promise.all([this.proxy.stop(), this.#side.stop()]);
    this.journal.remove();
  }

  /** The last lines of every process's log, to see why something went wrong. */
  logs(lines: number): string {
    const of = (name: string, { pid, logged }: ServerProcess) =>
      [`--- ${name} ${pid}`, ...logged.slice(-lines)].join("\n");
    return [of("api", this.api), ...this.workers.map((worker) => of("worker", worker))].join("\n");
  }

  /** A worker, and another one whenever it ends: as whatever supervises processes does. */
  async #keepWorker(): Promise<void> {
    const worker = await this.startWorker();
    if (this.ending.aborted) return endProcesses([worker]);
    this.workers.push(worker);
    void worker.ended.then(async () => {
      this.workers.splice(this.workers.indexOf(worker), 1);
      for (let started = false; !started && !this.ending.aborted; ) {
        // The store may be away at that very moment.
        started = await this.#keepWorker().then(
          () => true,
          () => delay(RESPAWN_MS).then(() => false),
        );
      }
    });
  }

  #start(role: string, env: Readonly<Record<string, string>>): Promise<ServerProcess> {
    return startProcess({
      ...{ ROLE: role, REDIS_URL: urlOf(this.proxy), KEY_PREFIX: this.observer.keys.prefix, LOG_LEVEL: "warn" },
      ...{ HANDLERS: this.#handlers, CHAOS_JOURNAL: this.journal.file },
      ...env,
    });
  }
}

/** Where it can be, in memory: what survives the end of a process is the same, and no slow disk holds up the store. */
const DATA = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();

async function startDurable(more: string[]): Promise<PrivateRedis> {
  return startRedis({ args: [...DURABLE, ...more], dir: await mkdtemp(path.join(DATA, "paihao-chaos-")) });
}

const urlOf = (proxy: TcpProxy): string => `redis://127.0.0.1:${proxy.port}`;
