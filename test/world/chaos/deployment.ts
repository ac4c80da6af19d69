import { existsSync, mkdtempSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { Redis } from "ioredis";
import { compileHandlers } from "../../helpers/compiled-handlers.ts";
import { openEngine, type TestEngine } from "../../helpers/engine.ts";
import { endProcesses, type ServerProcess, startProcess } from "../../helpers/server-process.ts";
import { uniquePrefix } from "../../helpers/store/run-store.ts";
import { startTcpProxy, type TcpProxy } from "../../helpers/tcp-proxy.ts";
import { eventually } from "../../shared/eventually.ts";
import { type PrivateRedis, startRedis } from "../../shared/redis-server.ts";
import type { Callers } from "../callers.ts";
import { type HandBack, handBackIn } from "../history/history.ts";
import { Journal } from "./journal.ts";

/** Causes a fault under load, and resolves when it is over: from then on everything must recover by itself. */
export type Strike = (world: World, callers: Callers) => Promise<unknown>;

type Env = Readonly<Record<string, string>>;

/** Settings with which a crash loses nothing that was acknowledged. */
const DURABLE = ["--appendonly", "yes", "--appendfsync", "always"];
/** In memory if possible: what survives the end of a process is the same, and no slow disk delays the store. */
const DATA = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();
/** How long Redis is away after a crash, ms. */
const DOWN_MS = 1000;
/** How many worker processes are kept running. */
const WORKERS = 2;
/** Pause before a worker that could not start is started again, ms. */
const RESPAWN_MS = 200;

/** A Redis, an API process and two worker processes between which faults happen, and an observer beside them. */
export class World {
  readonly journal = new Journal();
  /** Since it was last emptied. */
  readonly handBacks: HandBack[] = [];
  /** The running worker processes. */
  readonly workers: ServerProcess[] = [];
  readonly observer: TestEngine;
  redis: PrivateRedis;
  /** In a soak: a process with both roles, which no fault ends. */
  steady: ServerProcess | undefined;
  #api: ServerProcess | undefined;
  readonly #env: Env;
  /** All reach Redis through it, so that another one can take over. */
  readonly #proxy: TcpProxy;
  readonly #admins = new Map<number, Redis>();
  readonly #handlers = mkdtempSync(path.join(tmpdir(), "paihao-world-handlers-"));
  #turns = 0;
  #isEnding = false;

  private constructor(redis: PrivateRedis, proxy: TcpProxy, observer: TestEngine, env: Env) {
    this.redis = redis;
    this.#proxy = proxy;
    this.observer = observer;
    this.#env = env;
    compileHandlers(path.join(import.meta.dirname, "handlers"), this.#handlers);
  }

  /**
   * Starts everything and waits until it is ready.
   * @param options settings of all servers, and whether there is a process that no fault ends
   */
  static async start({ env = {}, steady = false }: { env?: Env; steady?: boolean } = {}): Promise<World> {
    const redis = await startDurable([]);
    const proxy = await startTcpProxy(redis.port);
    const observer = await openEngine({ url: urlOf(proxy), prefix: uniquePrefix() });
    const world = new World(redis, proxy, observer, env);
    try {
      if (steady) world.steady = await world.#start("all", { PORT: "0" });
      await Promise.all([world.startApi(), ...Array.from({ length: WORKERS }, () => world.#keepWorker())]);
      return world;
    } catch (error) {
      await world.stop();
      throw error;
    }
  }

  /** The API process. */
  get api(): ServerProcess {
    if (!this.#api) throw new Error("there is no API process");
    return this.#api;
  }

  /** Sends a command to the present master, as an operator would. */
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

  /** Where the next call goes: to the API, and to the process that stays by turns. */
  nextUrl(): string {
    this.#turns += 1;
    return this.steady && this.#turns % 2 === 0 ? this.steady.url : this.api.url;
  }

  /** Starts an API; again, like a supervisor, if the store does not answer it in time. */
  async startApi(env: Env = {}): Promise<void> {
    this.#api = await eventually(() => this.#start("api", { PORT: "0", ...env }));
  }

  /** Ends the API process and starts another one. */
  async replaceApi(env: Env = {}): Promise<void> {
    await endProcesses([this.api]);
    await this.startApi(env);
  }

  /** Starts one more worker, which is not replaced when it ends. */
  startWorker(env: Env = {}): Promise<ServerProcess> {
    return this.#start("worker", env);
  }

  /** Ends processes with SIGTERM. @throws Error if one does not exit with 0 */
  async drain(processes: readonly ServerProcess[]): Promise<void> {
    for (const { child, ended, pid } of processes) {
      child.kill("SIGTERM");
      const code = await ended;
      if (code !== 0) throw new Error(`process ${pid} has ended with ${code} when it drained`);
    }
  }

  /** Kills Redis and starts it again with its data on disk, or with none. */
  async crashRedis(options: { empty: boolean }): Promise<void> {
    await this.redis.stop("SIGKILL");
    if (options.empty) await rm(path.join(this.redis.dir, "appendonlydir"), { recursive: true });
    await delay(DOWN_MS);
    await this.redis.restart(DURABLE);
  }

  /** A replica in sync with the master, reached through another port if one is given. */
  async startReplica(port = this.redis.port): Promise<PrivateRedis> {
    const replica = await startDurable(["--replicaof", "127.0.0.1", String(port)]);
    await this.inStep(replica);
    return replica;
  }

  /** Resolves when a replica has everything that the master has at this moment. */
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
    this.#proxy.target(redis.port);
    this.#admins.get(old.port)?.disconnect();
    this.#admins.delete(old.port);
    await old.stop("SIGKILL");
    await rm(old.dir, { recursive: true });
  }

  /** Ends all processes, whatever their state. */
  async stop(): Promise<void> {
    this.#isEnding = true;
    await endProcesses([this.#api, this.steady, ...this.workers].filter((one) => one !== undefined));
    await this.observer.close().catch(() => undefined);
    await this.redis.stop("SIGKILL");
    await Promise.all([this.redis.dir, this.#handlers].map((dir) => rm(dir, { recursive: true })));
    for (const admin of this.#admins.values()) admin.disconnect();
    await this.#proxy.stop();
    this.journal.remove();
  }

  /** The last log lines of every process, to explain a failure. */
  logs(lines: number): string {
    const of = (name: string, { pid, logged }: ServerProcess) =>
      [`--- ${name} ${pid}`, ...logged.slice(-lines)].join("\n");
    return [of("api", this.api), ...this.workers.map((worker) => of("worker", worker))].join("\n");
  }

  /** Starts a worker, and another one whenever it ends, like a supervisor. */
  async #keepWorker(): Promise<void> {
    const worker = await this.startWorker();
    if (this.#isEnding) return endProcesses([worker]);
    this.workers.push(worker);
    void worker.ended.then(async () => {
      this.workers.splice(this.workers.indexOf(worker), 1);
      for (let started = false; !started && !this.#isEnding; ) {
        // The store may be away at this moment.
        started = await this.#keepWorker().then(
          () => true,
          () => delay(RESPAWN_MS).then(() => false),
        );
      }
    });
  }

  #start(role: string, env: Env): Promise<ServerProcess> {
    const variables = {
      ...{ ROLE: role, REDIS_URL: urlOf(this.#proxy), KEY_PREFIX: this.observer.keys.prefix },
      // The log of a worker tells which tasks it hands back.
      ...{ LOG_LEVEL: role === "api" ? "warn" : "info", HANDLERS: this.#handlers, WORLD_JOURNAL: this.journal.file },
      ...this.#env,
      ...env,
    };
    return startProcess(variables, undefined, (line) => {
      const handBack = handBackIn(line);
      if (handBack) this.handBacks.push(handBack);
    });
  }
}

async function startDurable(more: string[]): Promise<PrivateRedis> {
  return startRedis({ args: [...DURABLE, ...more], dir: await mkdtemp(path.join(DATA, "paihao-world-")) });
}

const urlOf = (proxy: TcpProxy): string => `redis://127.0.0.1:${proxy.port}`;
