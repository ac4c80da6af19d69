import { readConfig } from "../../src/config/config.ts";
import type { Engine } from "../../src/engine/engine.ts";
import { openEngine } from "../../src/engine/upkeep/boot.ts";
import type { Inspection } from "../../src/engine/watch/inspect.ts";
import { undoHandler } from "../../src/extras/undo/undo-handler.ts";
import type { Handler } from "../../src/handler/define.ts";
import { inEachPartition } from "../../src/handler/internal-queues.ts";
import { createLog } from "../../src/log.ts";
import { Loop } from "../../src/loop.ts";
import { Keys } from "../../src/store/keys.ts";
import { connectOnce } from "../../src/store/servers/connect-once.ts";
import { isOutcome } from "../../src/task.ts";
import { Worker, type WorkerOptions } from "../../src/workers/worker.ts";
import { eventually } from "../shared/eventually.ts";
import { type GivenSubmission, submissionOf } from "../shared/submission.ts";
import { storeUrl, uniquePrefix } from "./store/run-store.ts";
import { removeKeys } from "./store/scan.ts";
import { TASK } from "./store/stored.ts";

/** Processes start slowly on a busy machine. */
const PATIENCE_MS = 45_000;

/** A line of a log. */
type LogLine = Readonly<Record<string, unknown>>;

/** An engine with workers in this process; on the run's store, unless another is given. */
export interface Workshop {
  readonly engine: Engine;
  readonly prefix: string;
  /** What has been logged so far. */
  readonly log: readonly LogLine[];
  /** Makes a worker, and starts it unless told not to. */
  worker(options?: Partial<WorkerOptions> & { idle?: boolean }): Promise<Worker>;
  /** Submits to a queue, by default the only one; returns the id. */
  submit(input: unknown, submission?: GivenSubmission): Promise<string>;
  look(id: string): Promise<Inspection>;
  /** Waits until a task has ended, or is in this state. */
  ended(id: string, state?: Inspection["state"]): Promise<Inspection>;
  /** Waits until a task has run for so long, by the store's clock. */
  ranFor(id: string, ms: number): Promise<void>;
  /** Waits for the result of a task: its JSON, else its text. Throws if the task did not succeed. */
  answer(id: string): Promise<unknown>;
  /** A connection to its store, closed with it. */
  redis(): ReturnType<typeof connectOnce>;
  /** Stops everything and removes its keys. */
  close(): Promise<void>;
}

export interface WorkshopOptions {
  readonly url?: string;
  readonly prefix?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Runs no ticks; for tests that run them themselves. */
  readonly timeless?: boolean;
  /** The retries of undos, since no test can wait for a day. */
  readonly undo?: Parameters<typeof undoHandler>[1];
}

const LIMITS = { maxResultBytes: 1_000_000, maxOutputBytes: 1_000_000 };

let ids = 0;

/** Opens a workshop for these handlers. */
export async function openWorkshop(handlers: readonly Handler[], options: WorkshopOptions = {}): Promise<Workshop> {
  const url = options.url ?? storeUrl();
  const prefix = options.prefix ?? uniquePrefix();
  const config = readConfig({ KEY_PREFIX: prefix, ...options.env });
  const lines: LogLine[] = [];
  const log = createLog("debug", { destination: { write: (line) => lines.push(JSON.parse(line) as LogLine) } });
  const byQueue = new Map(handlers.map((handler) => [handler.queue, handler]));
  const undoing = undoHandler(byQueue, options.undo);
  const undoings = inEachPartition(undoing, config.partitions).map((handler) => [handler.queue, handler] as const);
  const all = new Map([...byQueue, ...undoings]);
  const { engine, close } = await openEngine(config, url, all.values(), log);
  const ticker = hastyTicker(engine);
  if (options.timeless !== true) ticker.start();
  const workers: Worker[] = [];
  const connections: Awaited<ReturnType<typeof connectOnce>>[] = [];

  const look = async (id: string) => {
    const seen = await engine.inspector.inspect(id, { result: true });
    if (!seen) throw new Error(`task ${id} is unknown`);
    return seen;
  };
  const ended = async (id: string, state?: Inspection["state"]) => {
    let seen = await look(id);
    await eventually(async () => {
      seen = await look(id);
      return state === undefined ? isOutcome(seen.state) : seen.state === state;
    }, PATIENCE_MS);
    return seen;
  };
  return {
    engine,
    prefix,
    log: lines,
    look,
    ended,
    async worker({ idle = false, ...given } = {}) {
      const worker = new Worker({ engine, handlers: all, log, ...LIMITS, drainTimeoutMs: 0, ...given });
      workers.push(worker);
      if (!idle) await worker.start();
      return worker;
    },
    async submit(input, submission = {}) {
      ids += 1;
      const queue = submission.queue ?? handlers[0]?.queue ?? "";
      const id = `task-${ids}`;
      const made = submissionOf(id, queue, JSON.stringify(input) ?? "null", submission);
      const { verdict } = await engine.submitter.submit(made, engine.queues.settings(queue));
      if (verdict !== "new") throw new Error(`not accepted: ${verdict}`);
      return submission.id ?? id;
    },
    async ranFor(id, ms) {
      await eventually(async () => {
        const { nowMs, startedMs } = await look(id);
        return startedMs !== null && nowMs - startedMs >= ms;
      }, PATIENCE_MS);
    },
    async answer(id) {
      const { state, result, errors } = await ended(id);
      if (state !== "succeeded" || !result) throw new Error(`${id} has ${state}: ${errors[0]}`);
      const text = Buffer.from(result.body).toString("utf8");
      return result.contentType === "application/json" ? JSON.parse(text) : text;
    },
    async redis() {
      const redis = await connectOnce(url);
      connections.push(redis);
      return redis;
    },
    async close() {
      for (const redis of connections) redis.disconnect();
      await Promise.all(workers.map((worker) => worker.stop()));
      await ticker.stop();
      close();
      await removeKeys(url, prefix);
    },
  };
}

/** Makes the deadline of a task pass now. */
export async function passDeadline(shop: Pick<Workshop, "prefix" | "look" | "redis">, id: string): Promise<void> {
  const keys = new Keys(shop.prefix, 1);
  const [tag, redis, { queue }] = [keys.tag(0), await shop.redis(), await shop.look(id)];
  await redis.hset(keys.start(tag, "task") + id, TASK.deadline, 1);
  await redis.zadd(keys.start(tag, "deadlines") + queue, "XX", 1, id);
}

/** Runs ticks like a Ticker, but more often, so that no test has to wait for one. */
function hastyTicker(engine: Engine): Loop {
  return new Loop({
    intervalMs: 25,
    tick: async () => {
      await Promise.all(engine.keys.tags.map((_, partition) => engine.upkeep.tick(partition)));
      return undefined;
    },
    onError: () => undefined,
  });
}

/** Resolves with why a task's signal has fired, when it does. */
export function firing(signal: AbortSignal): Promise<string> {
  return new Promise((resolve) => {
    const tell = () => resolve(String((signal.reason as Error).cause));
    if (signal.aborted) tell();
    else signal.addEventListener("abort", tell);
  });
}
