import type { Config } from "./config.ts";
import { Engine } from "./engine/engine.ts";
import { claimPartitions } from "./engine/partitions.ts";
import { settingsOf } from "./engine/settings.ts";
import { messageOf } from "./errors.ts";
import { defineHandler } from "./handler.ts";
import { loadHandlers, shippedHandlersDir } from "./handler-files.ts";
import { createApp, createHealthApp } from "./http/app.ts";
import { HttpServer } from "./http/server.ts";
import type { Logger } from "./log.ts";
import { checkFitness } from "./store/fitness.ts";
import { Keys } from "./store/keys.ts";
import { Notices } from "./store/notices.ts";
import { provisionStore } from "./store/provision.ts";
import { connect } from "./store/redis.ts";
import { Scripts } from "./store/scripts.ts";
import { supervisor } from "./workers/supervisor.ts";
import { Ticker } from "./workers/ticker.ts";
import { Worker } from "./workers/worker.ts";

/** A server that has started. */
export interface Running {
  /** Where it listens; undefined for a worker without PORT. */
  readonly url: string | undefined;
  readonly queues: readonly string[];
  /** Which store, and where the data lives. */
  readonly store: string;
  /** Lets what runs end, then closes everything; idempotent. */
  stop(): Promise<void>;
}

/** Script flags came with Redis 7. */
const FLAGS_SINCE = 7;

/**
 * Starts what the configuration asks for: store, engine, and the roles of this process.
 * @throws StartError with a message for a person
 */
export async function start(config: Config, log: Logger): Promise<Running> {
  const handlers = await loadHandlers(config.handlersDir ?? shippedHandlersDir);
  const store = await provisionStore(config, log);
  const undo: (() => Promise<unknown>)[] = [() => store.stop()];
  const unwind = async () => {
    for (const step of undo.splice(0).reverse())
      await step().catch((error: unknown) => log.warn({ reason: messageOf(error) }, "stopping"));
  };
  try {
    const redis = await connect(store.url, "commands", log);
    undo.push(async () => redis.disconnect());
    const subscriber = await connect(store.url, "notices", log);
    undo.push(async () => subscriber.disconnect());
    const fitness = await checkFitness(redis);
    for (const warning of fitness.warnings) log.warn(warning);

    const keys = new Keys(config.keyPrefix, config.partitions);
    await claimPartitions(redis, keys);
    const undoing = supervisor(handlers);
    const all = new Map([...handlers, [undoing.queue, undoing]]);
    const engine = new Engine({
      scripts: new Scripts(redis, { flags: Number.parseInt(fitness.version, 10) >= FLAGS_SINCE }),
      keys,
      notices: new Notices(subscriber),
      queues: new Map([...all].map(([queue, handler]) => [queue, settingsOf(handler, config)])),
      fallback: settingsOf(defineHandler({ queue: "unknown", run: () => undefined }), config),
    });

    const closing = new AbortController();
    const readiness = async (): Promise<string[]> => {
      if (closing.signal.aborted) return ["the server is stopping"];
      try {
        await redis.ping();
        return (await checkFitness(redis)).warnings;
      } catch (error) {
        return [`the store cannot be reached: ${messageOf(error)}`];
      }
    };

    const ticker = new Ticker(engine, log);
    ticker.start();
    undo.push(() => ticker.stop());
    let server: HttpServer | undefined;
    if (config.port !== undefined) {
      const api = { engine, handlers, log, readiness, closing: closing.signal, ...config };
      const app = config.role === "worker" ? createHealthApp(api) : createApp(api, config);
      server = new HttpServer(app, { host: config.host, port: config.port });
      await server.start();
    }
    const worker = config.role === "api" ? undefined : new Worker({ engine, handlers: all, log, ...config });
    await worker?.start();

    // Callers may still collect while the worker drains; then those who are held are let go.
    let stopped: Promise<void> | undefined;
    const stop = async () => {
      log.info("stopping");
      await worker?.stop();
      closing.abort();
      await server?.stop();
      await unwind();
      log.info("stopped");
    };
    return {
      url: server && `http://${config.host.includes(":") ? `[${config.host}]` : config.host}:${server.port}`,
      queues: [...handlers.keys()],
      store: store.description,
      stop: () => (stopped ??= stop()),
    };
  } catch (error) {
    await unwind();
    throw error;
  }
}
