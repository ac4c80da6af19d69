import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";

const ROOT = path.resolve(import.meta.dirname, "../..");
/** The arguments of Node that run `paihao` from its sources. */
const FROM_SOURCE = ["--import", "tsx", "src/cli/paihao.ts"];
const START = ["start", "--handlers", path.join(import.meta.dirname, "handlers")];

/** How the servers of the demo are started. */
export interface ServerOptions {
  readonly workers: number;
  /** The arguments of Node that run `paihao`; left out, from its sources. */
  readonly command?: readonly string[] | undefined;
  /** A Redis to use; left out, one is started, with its data in a temporary folder. */
  readonly redisUrl: string | undefined;
  /** Further settings of the processes: where the services are. */
  readonly env: Readonly<Record<string, string>>;
}

/** A Redis, one process of role api, and workers: separate processes, as on several machines. */
export class Servers {
  readonly #options: ServerOptions;
  readonly #workers: ChildProcess[] = [];
  /** The workers that have started and take tasks. */
  readonly #ready = new Set<ChildProcess>();
  #store: ChildProcess | undefined;
  #dir: string | undefined;
  #api: ChildProcess | undefined;
  #env: NodeJS.ProcessEnv = {};
  #stopping = false;
  url = "";
  /** How many workers were killed. */
  kills = 0;

  constructor(options: ServerOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    const redisUrl = this.#options.redisUrl ?? (await this.#startStore());
    this.#env = {
      ...process.env,
      ...{ LEASE: "3s", LOG_LEVEL: "fatal", KEY_PREFIX: `drones-${process.pid}`, PORT: "0" },
      ...this.#options.env,
      REDIS_URL: redisUrl,
    };
    const api = this.#spawnPaihao("api", this.#env);
    this.#api = api;
    this.url = (await lineWith(api, "stderr", /ready on (http\S+)/)) ?? "";
    await Promise.all(Array.from({ length: this.#options.workers }, () => this.#startWorker()));
  }

  /**
   * Kills a worker as a crash would; another one is started in its place. The last one that takes tasks is spared: on a busy
   * machine workers might otherwise never live long enough to run anything.
   */
  killWorker(): void {
    const ready = [...this.#ready];
    if (ready.length < Math.min(2, this.#options.workers)) return;
    const worker = ready[Math.floor(Math.random() * ready.length)];
    if (!worker?.kill("SIGKILL")) return;
    this.#ready.delete(worker);
    this.kills += 1;
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    await Promise.all([...this.#workers, this.#api].map((child) => end(child, "SIGTERM")));
    await end(this.#store, "SIGTERM");
    if (this.#dir) await rm(this.#dir, { recursive: true, force: true });
  }

  async #startStore(): Promise<string> {
    this.#dir = await mkdtemp(path.join(tmpdir(), "drones-"));
    this.#store = spawnNode(["--import", "tsx", "scripts/redis.ts", "--dir", this.#dir], process.env);
    const url = await lineWith(this.#store, "stdout", /REDIS_URL=(\S+)/);
    if (url === undefined) throw new Error("no redis-server on PATH: install it, or set REDIS_URL");
    return url;
  }

  async #startWorker(): Promise<void> {
    const env = { ...this.#env, PORT: "" };
    const worker = this.#spawnPaihao("worker", env);
    this.#workers.push(worker);
    worker.once("exit", () => {
      this.#workers.splice(this.#workers.indexOf(worker), 1);
      this.#ready.delete(worker);
      if (!this.#stopping) void this.#startWorker();
    });
    if ((await lineWith(worker, "stderr", /worker is (ready)/)) !== undefined) this.#ready.add(worker);
  }

  #spawnPaihao(role: string, env: NodeJS.ProcessEnv): ChildProcess {
    return spawnNode([...(this.#options.command ?? FROM_SOURCE), ...START, "--role", role], env);
  }
}

function spawnNode(args: readonly string[], env: NodeJS.ProcessEnv): ChildProcess {
  const child = spawn(process.execPath, args, { cwd: ROOT, env, stdio: ["ignore", "pipe", "pipe"] });
  const kill = () => child.kill("SIGKILL");
  process.once("exit", kill);
  child.once("exit", () => process.off("exit", kill));
  return child;
}

/** The captured text in the first line that matches a pattern; undefined if the process ends without one. */
function lineWith(child: ChildProcess, stream: "stdout" | "stderr", pattern: RegExp): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", () => resolve(undefined));
    const input = child[stream];
    // Reads to the end: a process whose output nobody reads would block.
    if (input)
      createInterface({ input }).on("line", (line) => {
        const match = pattern.exec(line);
        if (match) resolve(match[1]);
      });
  });
}

async function end(child: ChildProcess | undefined, signal: NodeJS.Signals): Promise<void> {
  if (!child || child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill(signal);
  await exited;
}
