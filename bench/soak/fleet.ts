import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { type ServerSubject, startPaihao } from "../harness/process.ts";
import type { BenchStore } from "../harness/store.ts";

/** Results and records leave the store soon, so that it reaches its usual size within the first minute. */
const ENV = {
  HANDLERS: path.join(import.meta.dirname, "../handlers/soak"),
  ...{ RESULT_TTL: "15s", TOMBSTONE_TTL: "15s", DEAD_TTL: "20s", WEBHOOK_ALLOW: "127.0.0.1", LOG_LEVEL: "silent" },
} as const;
/** Pause between two processes that are ended, ms: a worker is killed, an API restarted, by turns. */
const RESTART_MS = 10_000;

/** The processes: one that stays and is measured, an API that is restarted and a worker that is killed again and again. */
export class Fleet {
  readonly steady: ServerSubject;
  restarts = 0;
  #api: ServerSubject;
  #worker: ServerSubject;
  readonly #store: BenchStore;
  readonly #ending = new AbortController();

  private constructor(
    store: BenchStore,
    [steady, api, worker]: readonly [ServerSubject, ServerSubject, ServerSubject],
  ) {
    this.#store = store;
    this.steady = steady;
    this.#api = api;
    this.#worker = worker;
  }

  static async start(store: BenchStore): Promise<Fleet> {
    const roles = ["all", "api", "worker"] as const;
    const [steady, api, worker] = await Promise.all(roles.map((role) => startProcess(store, role)));
    if (!steady || !api || !worker) throw new Error("a process is missing");
    return new Fleet(store, [steady, api, worker]);
  }

  /** The URL of the process that stays, or of the API that is restarted. */
  url(which: "steady" | "api"): string {
    return `http://127.0.0.1:${(which === "steady" ? this.steady : this.#api).port}`;
  }

  /** Ends one process after the other until it is stopped. */
  async restartAll(): Promise<void> {
    for (;;) {
      await delay(RESTART_MS, undefined, { signal: this.#ending.signal }).catch(() => undefined);
      if (this.#ending.signal.aborted) return;
      this.restarts += 1;
      if (this.restarts % 2 === 0) {
        await this.#api.stop();
        this.#api = await startProcess(this.#store, "api");
      } else {
        process.kill(this.#worker.pid, "SIGKILL");
        this.#worker = await startProcess(this.#store, "worker");
      }
    }
  }

  endRestarts(): void {
    this.#ending.abort();
  }

  async stop(): Promise<void> {
    await Promise.all([this.steady, this.#api, this.#worker].map((one) => one.stop()));
  }
}

function startProcess(store: BenchStore, role: string): Promise<ServerSubject> {
  return startPaihao({ ...ENV, ROLE: role, REDIS_URL: store.url });
}
