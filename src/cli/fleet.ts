import cluster, { type Worker } from "node:cluster";
import { once } from "node:events";
import path from "node:path";
import type { Config, ServerRole } from "../config/config.ts";
import { messageOf, StartError } from "../errors.ts";
import type { Logger } from "../log.ts";
import type { Running } from "../server.ts";
import { provisionStore } from "../store/servers/provision.ts";

/** Pauses before a member that died is started again; once it has lived for `healthyMs`, the first pause applies again. */
const RESTART = { firstMs: 250, mostMs: 10_000, healthyMs: 30_000 } as const;
/** A member that has not exited this long after its drain timeout is killed. A worker may need 10 s for its tasks to settle. */
const GRACE_MS = 15_000;

/** What a member sends: that it listens for its settings, then that it is ready, or why it cannot start. */
export type MemberMessage =
  | { readonly listens: true }
  | { readonly ready: { readonly url: string | undefined; readonly queues: readonly string[] } }
  | { readonly refusal: string };

type Outcome = Exclude<MemberMessage, { listens: true }>;

/** What a member receives last: to stop, and how long running tasks and answers may take. */
export interface StopMessage {
  readonly stopWithinMs: number;
}

/** Variables that win over the environment. */
type Settings = Readonly<Record<string, string | undefined>>;

/**
 * What a member receives first. It is not put into the environment, where handlers and all that they start would find the address of
 * the store.
 */
export interface SettingsMessage {
  readonly settings: Settings;
}

/**
 * Starts WEB_CONCURRENCY processes of role `api` that share one port and, where the role is `all`, one of role `worker` beside
 * them. This process runs no tasks and answers no requests: it owns the store, distributes the connections, and restarts
 * members that die.
 * @throws StartError with a message for a person
 */
export async function startFleet(config: Config, overrides: Settings, log: Logger): Promise<Running> {
  const store = await provisionStore(config, log);
  const settings = (role: ServerRole): Settings => ({
    ...overrides,
    ...{ ROLE: role, REDIS_URL: store.url, STORE: "external", WEB_CONCURRENCY: "1" },
    // The worker of a fleet does not listen.
    ...(role === "worker" ? { PORT: "" } : {}),
  });
  cluster.setupPrimary({
    exec: path.join(import.meta.dirname, `member${path.extname(import.meta.filename)}`),
    args: [],
  });
  const members = Array.from(
    { length: config.webConcurrency },
    (_, n) => new Member(`api-${n + 1}`, settings("api"), log),
  );
  const worker = config.role === "all" ? new Member("worker", settings("worker"), log) : undefined;
  let stopped: Promise<void> | undefined;
  const stop = (withinMs = config.drainTimeoutMs) => {
    stopped ??= (async () => {
      const deadline = performance.now() + withinMs;
      for (const member of [...members, ...(worker ? [worker] : [])]) member.letEnd();
      // The worker stops last, since callers of the other processes wait for its tasks.
      await Promise.all(members.map((member) => member.stop(withinMs)));
      await worker?.stop(Math.max(0, deadline - performance.now()));
      await store.stop();
    })();
    return stopped;
  };
  try {
    // The first starts alone, so that a configuration error is reported only once.
    const [first, ...others] = members;
    const { url, queues } = (await first?.start()) ?? { url: undefined, queues: [] };
    await Promise.all([...others, ...(worker ? [worker] : [])].map((member) => member.start()));
    const reload = () => {
      for (const member of members) member.reload();
    };
    return { url, queues, store: store.description, reload, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** One process of the fleet, and its replacements when it dies. */
class Member {
  readonly #name: string;
  readonly #settings: Settings;
  readonly #log: Logger;
  #process: Worker | undefined;
  #timer: NodeJS.Timeout | undefined;
  #stopping = false;
  #deaths = 0;

  constructor(name: string, settings: Settings, log: Logger) {
    this.#name = name;
    this.#settings = settings;
    this.#log = log.child({ member: name });
  }

  /** Resolves when it is ready. @throws StartError with its reason if it cannot start */
  async start(): Promise<Extract<MemberMessage, { ready: unknown }>["ready"]> {
    const startedAt = performance.now();
    const forked = cluster.fork();
    this.#process = forked;
    const exited = once(forked, "exit");
    const answer = await Promise.race([
      this.#instruct(forked),
      exited.then((): Outcome => ({ refusal: `its process ${this.#name} ended before it was ready` })),
    ]);
    if (!("ready" in answer)) {
      await exited;
      this.#process = undefined;
      throw new StartError(answer.refusal);
    }
    void exited.then(() => this.#died(startedAt));
    return answer.ready;
  }

  /** Sends it its settings, and waits for what becomes of it. */
  async #instruct(forked: Worker): Promise<Outcome> {
    // A message that it gets before it listens is lost.
    await once(forked, "message");
    forked.send({ settings: this.#settings } satisfies SettingsMessage, () => undefined);
    const [outcome] = (await once(forked, "message")) as [Outcome];
    return outcome;
  }

  /** Makes it read its API keys again. */
  reload(): void {
    this.#process?.process.kill("SIGHUP");
  }

  /** From now on it is not replaced when it ends. */
  letEnd(): void {
    this.#stopping = true;
    clearTimeout(this.#timer);
  }

  /** Lets it finish, and kills it if that takes too long. */
  async stop(withinMs: number): Promise<void> {
    this.letEnd();
    const running = this.#process;
    if (!running || running.isDead()) return;
    const exited = once(running, "exit");
    // Sending fails if it has just died; its exit event follows.
    running.send({ stopWithinMs: withinMs } satisfies StopMessage, () => undefined);
    const late = setTimeout(() => {
      this.#log.warn("the process did not exit in time; killing it");
      running.process.kill("SIGKILL");
    }, withinMs + GRACE_MS);
    await exited;
    clearTimeout(late);
  }

  #died(startedAt: number): void {
    const gone = this.#process?.process;
    this.#process = undefined;
    if (this.#stopping) return;
    if (performance.now() - startedAt >= RESTART.healthyMs) this.#deaths = 0;
    this.#log.error(
      { pid: gone?.pid, code: gone?.exitCode, signal: gone?.signalCode },
      "a server process died; restarting it",
    );
    this.#again();
  }

  #again(): void {
    const pauseMs = Math.min(RESTART.firstMs * 2 ** this.#deaths, RESTART.mostMs);
    this.#deaths += 1;
    this.#timer = setTimeout(() => {
      this.start().then(
        () => this.#log.info("the process is running again"),
        (error: unknown) => {
          this.#log.error({ reason: messageOf(error) }, "could not restart the process; trying again");
          if (!this.#stopping) this.#again();
        },
      );
    }, pauseMs);
  }
}
