import { LinkSigner } from "./auth/link-signer.ts";
import type { Config } from "./config/config.ts";
import { Calibration } from "./engine/estimates/calibration.ts";
import { openEngine } from "./engine/open.ts";
import { messageOf } from "./errors.ts";
import type { Handler } from "./handler/define.ts";
import { loadHandlers, shippedHandlersDir } from "./handler/load.ts";
import { createApp, createHealthApp } from "./http/app.ts";
import { OpenStreams } from "./http/live/open-streams.ts";
import { openSecurity } from "./http/security/security.ts";
import { HttpServer } from "./http/server.ts";
import { monitorDocument, PROBLEM_BYTES } from "./http/task/document.ts";
import type { Logger } from "./log.ts";
import { AddressGuard } from "./net/ssrf-guard.ts";
import { provisionStore } from "./store/servers/provision.ts";
import { deliverer } from "./webhooks/delivery.ts";
import { checkTarget } from "./webhooks/target.ts";
import { Ticker } from "./workers/ticker.ts";
import { undoHandler } from "./workers/undo.ts";
import { Worker } from "./workers/worker.ts";

/** A server that has started. */
export interface Running {
  /** Where it listens; undefined for a worker without PORT. */
  readonly url: string | undefined;
  readonly queues: readonly string[];
  /** Which store, and where the data lives. */
  readonly store: string;
  /** Reads the file of API keys again. */
  reload(): void;
  /**
   * Takes no new connections, answers the callers who wait while the worker goes on, lets what runs end, then closes
   * everything; idempotent.
   * @param withinMs for answers and running tasks together; default DRAIN_TIMEOUT
   */
  stop(withinMs?: number): Promise<void>;
}

/**
 * Starts what the configuration asks for: store, engine, and the roles of this process.
 * @throws StartError with a message for a person
 */
export async function start(config: Config, log: Logger): Promise<Running> {
  const handlers = await loadHandlers(config.handlersDir ?? shippedHandlersDir);
  const undoing = undoHandler(handlers);
  const guard = new AddressGuard(config.webhookAllow, { plainHttp: "listed" });
  const signer = config.urlSigningKey === undefined ? undefined : new LinkSigner(config.urlSigningKey, config.urlTtlMs);
  const stopping = new AbortController();
  const closing = new AbortController();
  /** What has been started, the last first to be stopped. */
  const started: Stop[] = [];
  let unwound: Promise<void> | undefined;
  const unwind = (withinMs = config.drainTimeoutMs) => {
    unwound ??= stopAll(started.reverse(), withinMs, log);
    return unwound;
  };
  try {
    const store = await provisionStore(config, log);
    started.push(() => store.stop());
    const delivering: Handler = deliverer({
      guard,
      secrets: config.webhookSecrets,
      // A longer result would not be sent along. Called once the worker runs: the engine is there by then.
      look: (id) => engine.inspect(id, { result: true, mostBytes: PROBLEM_BYTES }),
      describe: (seen) => monitorDocument(seen, engine.settings(seen.queue).attempts, signer?.sign(seen)),
    });
    const ownHandlers = new Map([undoing, delivering].map((handler) => [handler.queue, handler]));
    const all = new Map([...handlers, ...ownHandlers]);
    const { engine, secret, readiness, close } = await openEngine(config, store.url, all.values(), log);
    started.push(close);
    const roles = [new Ticker(engine, log), new Calibration(engine, log)];
    for (const role of roles) {
      role.start();
      started.push(() => role.stop());
    }

    const worker =
      config.role === "api"
        ? undefined
        : new Worker({
            engine,
            handlers: all,
            log,
            ...config,
            handlersDir: config.handlersDir ?? shippedHandlersDir,
          });
    let server: HttpServer | undefined;
    let reload = () => {};
    if (config.port !== undefined) {
      const ready = () => (stopping.signal.aborted ? Promise.resolve(["the server is stopping"]) : readiness());
      const checkWebhook = (url: string) => checkTarget(url, guard);
      const api = {
        engine,
        handlers,
        ownHandlers,
        log,
        readiness: ready,
        stopping: stopping.signal,
        closing: closing.signal,
        checkWebhook,
        streams: new OpenStreams(config.maxStreams),
        ...config,
      };
      const security = await openSecurity(config, { url: store.url, keys: engine.keys, log });
      started.push(() => security.close());
      reload = () => security.keyRing?.reload();
      const options = { ...config, security, idSecret: secret };
      const app = config.role === "worker" ? createHealthApp(api, options) : createApp(api, options);
      server = new HttpServer(app, { ...config, port: config.port, log, stopping, closing });
    }
    const stopServer: Stop = (leftMs) => server?.stop(leftMs);
    const stopWorker: Stop = (leftMs) => worker?.stop(leftMs);
    // The API stops first: the worker goes on with the tasks that its callers wait for. Where a worker alone listens, it is
    // for probes and metrics, which are to see it drain.
    started.push(...(config.role === "worker" ? [stopServer, stopWorker] : [stopWorker, stopServer]));
    started.push(() => stopping.abort());
    await server?.start();
    await worker?.start();
    return {
      url: server && `http://${config.host.includes(":") ? `[${config.host}]` : config.host}:${server.port}`,
      queues: [...handlers.keys()],
      store: store.description,
      reload,
      stop: unwind,
    };
  } catch (error) {
    await unwind();
    throw error;
  }
}

/** Stops one part; told how much of the time to stop is left, ms. */
type Stop = (leftMs: number) => unknown;

async function stopAll(parts: readonly Stop[], withinMs: number, log: Logger): Promise<void> {
  const deadline = performance.now() + withinMs;
  for (const stop of parts) {
    try {
      await stop(Math.max(0, deadline - performance.now()));
    } catch (error) {
      log.warn({ reason: messageOf(error) }, "a part of the server failed to stop; stopping the others");
    }
  }
}
