import cluster, { type Worker } from "node:cluster";
import { once } from "node:events";
import path from "node:path";
import { AggregatorRegistry } from "prom-client";
import { backoffMs } from "../../backoff.ts";
import type { Config } from "../../config/config.ts";
import type { ServerRole } from "../../config/variables.ts";
import { messageOf, StartError } from "../../errors.ts";
import type { SampleCall } from "../../handler/sample-call.ts";
import type { Logger } from "../../log.ts";
import type { Running, RunningDoor } from "../../running.ts";
import { provisionStore } from "../../store/servers/provision.ts";
import { withoutFile } from "../environment.ts";

/** Pauses before a process that died is started again; once it has lived for `healthyMs`, the first pause applies again. */
const RESTART = { baseMs: 250, maxMs: 10_000, healthyMs: 30_000 } as const;
/** A process that has not exited this long after its drain timeout is killed. A worker may need 10 s for its tasks to settle. */
const GRACE_MS = 15_000;

/** A process that has started. */
export interface Ready {
  readonly url: string | undefined;
  readonly doors: readonly RunningDoor[];
  readonly queues: readonly string[];
  readonly sample: SampleCall | undefined;
}

/** What a process sends: that it is ready, why it cannot start, or a request for the metrics of all. */
export type MemberMessage = { readonly ready: Ready } | { readonly refusal: string } | { readonly scrape: true };

/**
 * What a process receives: how long it may take to stop, and whether another one replaces it; or the metrics of all, undefined if one
 * did not report in time.
 */
export type ParentMessage =
  | { readonly stopWithinMs: number; readonly replaced: boolean }
  | { readonly exposition: string | undefined };

/**
 * Starts WEB_CONCURRENCY processes of role `api` that share one port (node:cluster) and, where the role is `all`, one of role `worker`
 * beside them. This process runs no tasks and answers no requests: it owns the store, starts processes that died again, and puts their
 * metrics together.
 * @param overrides variables that win over the environment and `.env`
 * @param signal ends the start
 * @throws StartError with a message for a person, or the reason of the signal
 */
export async function startFleet(
  config: Config,
  overrides: Readonly<Record<string, string | undefined>>,
  log: Logger,
  signal: AbortSignal,
): Promise<Running> {
  const store = await provisionStore(config, log, signal);
  // Each process accepts its connections itself. If this one handed them over, a connection on its way to a process that ends would wait
  // for ever, and one beyond MAX_CONNECTIONS would be handed around without end.
  cluster.schedulingPolicy = cluster.SCHED_NONE;
  cluster.setupPrimary({
    exec: path.join(import.meta.dirname, `member${path.extname(import.meta.filename)}`),
    args: [],
  });
  const metrics = new AggregatorRegistry();
  cluster.on("message", (from, message: MemberMessage) => {
    // The metrics of prom-client come this way, too.
    if (!("scrape" in message)) return;
    const answer = (exposition: string | undefined) => tell(from, { exposition });
    // Once more, since a process that just starts or dies does not answer.
    const again = () => metrics.clusterMetrics();
    metrics
      .clusterMetrics()
      .catch(again)
      .then(answer, () => answer(undefined));
  });
  const environment = (role: ServerRole) => ({
    ...withoutFile(),
    ...Object.fromEntries(Object.entries(overrides).filter(([, value]) => value !== undefined)),
    ...(store.kind === "external" ? {} : { REDIS_URL: store.url, STORE: "external" }),
    // The worker of a fleet does not listen.
    ...{ ROLE: role, ...(role === "worker" ? { PORT: "" } : {}) },
  });
  const apis = Array.from({ length: config.webConcurrency }, () => new Member(environment("api"), log));
  const worker = config.role === "all" ? new Member(environment("worker"), log) : undefined;
  const all = worker ? [...apis, worker] : apis;
  let stopped: Promise<void> | undefined;
  const stop = (withinMs = config.drainTimeoutMs) => {
    stopped ??= (async () => {
      const deadline = performance.now() + withinMs;
      for (const member of all) member.letEnd();
      // The worker stops last, since callers of the other processes wait for its tasks.
      await Promise.all(apis.map((member) => member.stop(withinMs)));
      await worker?.stop(Math.max(0, deadline - performance.now()));
      await store.stop();
    })();
    return stopped;
  };
  let replacing: Promise<void> = Promise.resolve();
  // Nobody waits for a replacement, so no caller is cut who may wait for a result.
  const withinMs = Math.max(config.drainTimeoutMs, config.syncLimitMs);
  const replaceAll = async () => {
    try {
      for (const member of all) if (stopped === undefined) await member.replace(withinMs);
    } catch (error) {
      if (stopped === undefined)
        log.error({ reason: messageOf(error) }, "the new code does not start; the processes go on as they are");
    }
  };
  const onAbort = () => void stop();
  signal.addEventListener("abort", onAbort);
  try {
    signal.throwIfAborted();
    // The first starts alone, so that a configuration error is reported only once.
    const [first, ...others] = all;
    const nothing = { url: undefined, doors: [], queues: [], sample: undefined };
    const { url, doors, queues, sample } = (await first?.start()) ?? nothing;
    signal.throwIfAborted();
    await Promise.all(others.map((member) => member.start()));
    const reload = () => {
      replacing = replacing.then(replaceAll);
    };
    return { url, doors, queues, sample, store: store.description, reload, stop };
  } catch (error) {
    await stop();
    throw error;
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

/** One process of the fleet at a time, and those that replace it. */
class Member {
  readonly #environment: Readonly<Record<string, string | undefined>>;
  readonly #log: Logger;
  /** All that have not exited: while one replaces another, there are two. */
  readonly #processes = new Set<Worker>();
  /** The one that has started. */
  #current: Worker | undefined;
  #timer: NodeJS.Timeout | undefined;
  #stopping = false;
  #deaths = 0;

  constructor(environment: Readonly<Record<string, string | undefined>>, log: Logger) {
    this.#environment = environment;
    this.#log = log.child({ role: environment.ROLE });
  }

  /** Starts another process, which then is the current one. @throws StartError with its reason if it cannot start */
  async start(): Promise<Ready> {
    const startedAt = performance.now();
    const forked = cluster.fork(this.#environment);
    this.#processes.add(forked);
    const exited = once(forked, "exit").then(() => this.#processes.delete(forked));
    const answer = await Promise.race([
      answerOf(forked),
      exited.then(() => ({ refusal: "its process ended before it was ready" })),
    ]);
    if ("refusal" in answer) {
      await exited;
      throw new StartError(answer.refusal);
    }
    this.#current = forked;
    // What is sent to a process before it listens is lost.
    if (this.#stopping) tell(forked, { stopWithinMs: 0, replaced: false });
    void exited.then(() => this.#current === forked && this.#died(forked, startedAt));
    return answer.ready;
  }

  /** Starts a process with the code and settings of now, then stops the one before. @throws StartError; then that one goes on */
  async replace(withinMs: number): Promise<void> {
    const before = this.#current;
    // One that died starts with the code of now anyway.
    if (before === undefined) return;
    await this.start();
    await this.#end(before, withinMs, true);
  }

  /** From now on it is not started again. */
  letEnd(): void {
    this.#stopping = true;
    clearTimeout(this.#timer);
  }

  /** Lets it finish, also while it starts, and kills it if that takes too long. */
  async stop(withinMs: number): Promise<void> {
    this.letEnd();
    await Promise.all([...this.#processes].map((one) => this.#end(one, withinMs)));
  }

  async #end(member: Worker, withinMs: number, replaced = false): Promise<void> {
    if (member.isDead()) return;
    const exited = once(member, "exit");
    tell(member, { stopWithinMs: withinMs, replaced });
    const late = setTimeout(() => {
      this.#log.warn("the process did not exit in time; killing it");
      member.process.kill("SIGKILL");
    }, withinMs + GRACE_MS);
    await exited;
    clearTimeout(late);
  }

  #died({ process: { pid, exitCode, signalCode } }: Worker, startedAt: number): void {
    this.#current = undefined;
    if (this.#stopping) return;
    if (performance.now() - startedAt >= RESTART.healthyMs) this.#deaths = 0;
    this.#log.error({ pid, code: exitCode, signal: signalCode }, "a server process died; restarting it");
    this.#again();
  }

  #again(): void {
    this.#deaths += 1;
    this.#timer = setTimeout(
      () => {
        this.start().then(
          () => this.#log.info("the process is running again"),
          (error: unknown) => {
            if (this.#stopping) return;
            this.#log.error({ reason: messageOf(error) }, "could not restart the process; trying again");
            this.#again();
          },
        );
      },
      backoffMs(RESTART, this.#deaths),
    );
  }
}

/** That a process is ready, or why it cannot start. */
function answerOf(member: Worker): Promise<{ readonly ready: Ready } | { readonly refusal: string }> {
  return new Promise((resolve) => {
    member.on("message", (message: MemberMessage) => {
      if ("ready" in message || "refusal" in message) resolve(message);
    });
  });
}

// Sending fails if it has just died; its exit event follows.
const tell = (member: Worker, message: ParentMessage): void => void member.send(message, () => undefined);
