import cluster, { type Worker } from "node:cluster";
import { once } from "node:events";
import path from "node:path";
import { backoffMs } from "../backoff.ts";
import type { Config } from "../config/config.ts";
import type { ServerRole } from "../config/variables.ts";
import { messageOf, StartError } from "../errors.ts";
import type { Logger } from "../log.ts";
import type { ReadMetric } from "../metrics.ts";
import type { Running } from "../server.ts";
import { provisionStore } from "../store/servers/provision.ts";
import {
  BEAT_MS,
  type MemberMessage,
  type ParentMessage,
  type Ready,
  type Settings,
  type SettingsMessage,
  type StartMessage,
} from "./fleet-messages.ts";
import { FleetMetrics, type MemberMetrics } from "./fleet-metrics.ts";

/** Pauses before a member that died is started again; once it has lived for `healthyMs`, the first pause applies again. */
const RESTART = { baseMs: 250, maxMs: 10_000, healthyMs: 30_000 } as const;
/** A member that has not exited this long after its drain timeout is killed. A worker may need 10 s for its tasks to settle. */
const GRACE_MS = 15_000;

type StartEnd = Exclude<StartMessage, { listens: true }>;

/**
 * A member whose event loop has stood still for this long is killed and replaced; later if its leases are longer, since a handler may count
 * on blocking the loop for that long.
 */
const SILENT_MS = 30_000;

/**
 * Starts WEB_CONCURRENCY processes of role `api` that share one port and, where the role is `all`, one of role `worker` beside
 * them. This process runs no tasks and answers no requests: it owns the store, distributes the connections, replaces members
 * that die or stand still, and combines their metrics.
 * @param silentMs how long a member may stand still
 * @throws StartError with a message for a person
 */
export async function startFleet(
  config: Config,
  overrides: Settings,
  log: Logger,
  silentMs = SILENT_MS,
): Promise<Running> {
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
  const names = Array.from({ length: config.webConcurrency }, (_, n) => `api-${n + 1}`);
  const metrics = new FleetMetrics(config.role === "all" ? [...names, "worker"] : names);
  const parts: FleetParts = { log, silentMs, metrics, scrape: () => metrics.exposition(all) };
  const members: readonly Member[] = names.map((name) => new Member(name, settings("api"), parts));
  const worker = config.role === "all" ? new Member("worker", settings("worker"), parts) : undefined;
  const all: readonly Member[] = [...members, ...(worker ? [worker] : [])];
  const pulse = setInterval(() => {
    for (const member of all) member.checkPulse();
  }, BEAT_MS);
  let stopped: Promise<void> | undefined;
  const stop = (withinMs = config.drainTimeoutMs) => {
    stopped ??= (async () => {
      clearInterval(pulse);
      const deadline = performance.now() + withinMs;
      for (const member of all) member.letEnd();
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

/** What the members of a fleet share. */
interface FleetParts {
  readonly log: Logger;
  readonly silentMs: number;
  readonly metrics: FleetMetrics;
  /** The metrics of all of them, as text. */
  scrape(): Promise<string>;
}

/** One process of the fleet, and its replacements when it dies. */
class Member implements MemberMetrics {
  readonly name: string;
  readonly #settings: Settings;
  readonly #parts: FleetParts;
  readonly #log: Logger;
  #process: Worker | undefined;
  #timer: NodeJS.Timeout | undefined;
  #stopping = false;
  #deaths = 0;
  /** Beats of this process since the last beat of the member; undefined while the member is not expected to send any. */
  #missed: number | undefined;
  #maxMissed = Number.POSITIVE_INFINITY;
  #metrics: readonly ReadMetric[] = [];
  /** Those who wait for these metrics. */
  readonly #reading: (() => void)[] = [];

  constructor(name: string, settings: Settings, parts: FleetParts) {
    this.name = name;
    this.#settings = settings;
    this.#parts = parts;
    this.#log = parts.log.child({ member: name });
  }

  get metrics(): readonly ReadMetric[] {
    return this.#metrics;
  }

  /** Resolves when it is ready. @throws StartError with its reason if it cannot start */
  async start(): Promise<Ready> {
    const startedAt = performance.now();
    const forked = cluster.fork();
    this.#process = forked;
    forked.on("message", (message: StartMessage | MemberMessage) => this.#receive(forked, message));
    const exited = once(forked, "exit");
    const answer = await Promise.race([
      this.#instruct(forked),
      exited.then((): StartEnd => ({ refusal: `its process ${this.name} ended before it was ready` })),
    ]);
    if (!("ready" in answer)) {
      await exited;
      this.#process = undefined;
      throw new StartError(answer.refusal);
    }
    void exited.then(() => this.#died(startedAt));
    this.#maxMissed = Math.max(this.#parts.silentMs, answer.ready.longestLeaseMs) / BEAT_MS;
    this.#missed = 0;
    return answer.ready;
  }

  /** Sends it its settings, and waits until it is ready, refuses or ends. */
  async #instruct(forked: Worker): Promise<StartEnd> {
    // A message that arrives before it listens is lost.
    await once(forked, "message");
    // It has missed the message to stop, if that was sent in the meantime.
    tell(forked, this.#stopping ? { stopWithinMs: 0 } : { settings: this.#settings });
    for (;;) {
      // It may be asked for metrics before it says that it is ready.
      const [message] = (await once(forked, "message")) as [StartMessage | MemberMessage];
      if ("ready" in message || "refusal" in message) return message;
    }
  }

  #receive(from: Worker, message: StartMessage | MemberMessage): void {
    // Metrics that arrive after its end are dropped: its counters are already with those of ended processes.
    if (from !== this.#process) return;
    if (this.#missed !== undefined) this.#missed = 0;
    if ("metrics" in message) {
      this.#metrics = message.metrics;
      for (const resolve of this.#reading.splice(0)) resolve();
    } else if ("scrape" in message) {
      void this.#parts.scrape().then((exposition) => tell(from, { exposition }));
    }
  }

  /** Kills it if it has been silent for too long; to be called with each beat of this process. */
  checkPulse(): void {
    // Counts beats instead of time: while this process or the whole machine stands still, there are none.
    if (this.#missed === undefined || this.#stopping) return;
    this.#missed += 1;
    if (this.#missed <= this.#maxMissed) return;
    const { pid } = this.#process?.process ?? {};
    this.#log.error(
      { pid, silentS: this.#missed * (BEAT_MS / 1000) },
      "a server process does not respond; killing and replacing it",
    );
    this.#missed = undefined;
    this.#process?.process.kill("SIGKILL");
  }

  /** Reads its metrics; resolves also if it has no process. */
  async readMetrics(): Promise<void> {
    const running = this.#process;
    if (!running || this.#missed === undefined) return;
    const read = new Promise<void>((resolve) => this.#reading.push(resolve));
    tell(running, { readMetrics: true });
    await read;
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
    tell(running, { stopWithinMs: withinMs });
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
    const cause = this.#missed === undefined ? "silent" : "ended";
    this.#missed = undefined;
    this.#parts.metrics.keep(this.#metrics);
    this.#metrics = [];
    for (const resolve of this.#reading.splice(0)) resolve();
    if (this.#stopping) return;
    this.#parts.metrics.countRestart(this.name, cause);
    if (performance.now() - startedAt >= RESTART.healthyMs) this.#deaths = 0;
    this.#log.error(
      { pid: gone?.pid, code: gone?.exitCode, signal: gone?.signalCode },
      "a server process died; restarting it",
    );
    this.#again();
  }

  #again(): void {
    this.#deaths += 1;
    const pauseMs = backoffMs(RESTART, this.#deaths);
    this.#timer = setTimeout(() => {
      this.start().then(
        () => this.#log.info("the process is running again"),
        (error: unknown) => {
          if (this.#stopping) return;
          this.#log.error({ reason: messageOf(error) }, "could not restart the process; trying again");
          this.#again();
        },
      );
    }, pauseMs);
  }
}

// Sending fails if it has just died; its exit event follows.
const tell = (member: Worker, message: SettingsMessage | ParentMessage): void =>
  void member.send(message, () => undefined);
