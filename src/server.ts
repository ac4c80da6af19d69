import { once } from "node:events";
import { hostname } from "node:os";
import { LinkSigner } from "./auth/link-signer.ts";
import { type Config, servedHostsOn } from "./config/config.ts";
import { Calibration } from "./engine/estimates/calibration.ts";
import { EventWatch } from "./engine/monitoring/events.ts";
import { readGauges } from "./engine/monitoring/read-gauges.ts";
import { openEngine } from "./engine/upkeep/boot.ts";
import { messageOf } from "./errors.ts";
import type { Extension } from "./extension.ts";
import { EXTENSIONS, partsOf } from "./extras/extras.ts";
import type { Handler } from "./handler/define.ts";
import { inEachPartition } from "./handler/internal-queues.ts";
import { loadHandlers, shippedHandlersDir } from "./handler/load.ts";
import { sampleCall } from "./handler/sample-call.ts";
import { answering, createApp, createHealthApp } from "./http/app.ts";
import type { Door } from "./http/extension.ts";
import { openSecurity } from "./http/security.ts";
import { HttpServer } from "./http/server/server.ts";
import { Streams } from "./http/server/streams.ts";
import type { Logger } from "./log.ts";
import type { Started } from "./running.ts";
import { provisionStore } from "./store/servers/provision.ts";
import { packageVersion, versionNear } from "./version.ts";
import { Ticker } from "./workers/ticker.ts";
import { Worker } from "./workers/worker.ts";

/** What is not configured. */
export interface StartParts {
  /** Default: {@link EXTENSIONS}. */
  readonly extensions?: readonly Extension[];
  /** Handlers that are not loaded from files. */
  readonly handlers?: ReadonlyMap<string, Handler> | undefined;
  /** The metrics of all processes that share the port, as text; default: those of this process. */
  readonly exposition?: () => Promise<string>;
  /** Ends the start: what has been started is stopped. Once that is done, it means nothing any more. */
  readonly signal?: AbortSignal;
}

/**
 * Starts the store, the engine and the roles of this process, as configured.
 * @throws StartError with a message for a person, or the reason of the signal
 */
export async function start(config: Config, log: Logger, parts: StartParts = {}): Promise<Started> {
  const given = parts.handlers;
  const handlersDir = given === undefined ? (config.handlersDir ?? shippedHandlersDir) : undefined;
  const { signal } = parts;
  // A file may wait for something in vain.
  const handlers = given ?? (await orEnded(loadHandlers(config.handlersDir ?? shippedHandlersDir), signal));
  const signer = config.urlSigningKey === undefined ? undefined : new LinkSigner(config.urlSigningKey, config.urlTtlMs);
  const stopping = new AbortController();
  const closing = new AbortController();
  /** Stops what has been started, in reverse order. */
  const started: Stop[] = [];
  let unwound: Promise<void> | undefined;
  let replaced = false;
  const unwind = (withinMs = config.drainTimeoutMs, isReplaced = false) => {
    replaced = isReplaced;
    unwound ??= stopAll(started.reverse(), withinMs, log);
    return unwound;
  };
  try {
    const store = await provisionStore(config, log, signal);
    started.push(() => store.stop());
    signal?.throwIfAborted();
    const starting = { config, handlers, signer, storeUrl: store.url, log, engine: () => engine };
    const using = parts.extensions ?? EXTENSIONS;
    const extensions = using.map((extension) => extension.start(starting));
    const tracing = extensions.find((extension) => extension.tracing)?.tracing;
    const ownHandlers = new Map(
      extensions
        .flatMap(({ handler }) => handler ?? [])
        .flatMap((handler) => inEachPartition(handler, config.partitions))
        .map((handler) => [handler.queue, handler]),
    );
    const all = new Map([...handlers, ...ownHandlers]);
    const { engine, secret, readiness, nodes, close } = await openEngine(
      config,
      store.url,
      all.values(),
      log,
      partsOf(using),
    );
    started.push(close);
    signal?.throwIfAborted();
    for (const extension of extensions) extension.opened?.(engine);
    const ends = () => stopping.signal.aborted && !replaced;
    const ready = () => (ends() ? Promise.resolve(["the server is stopping"]) : readiness());
    const gauges = { engine, readiness: ready, nodes };
    const { metrics } = engine;
    metrics.gauges.readWith(() => readGauges(gauges));
    if (parts.exposition) metrics.share();
    const roles = [
      new Ticker(engine, log),
      new Calibration(engine.inspector, engine.metrics, engine.sample, log),
      new EventWatch(engine, log),
      ...(await Promise.all(extensions.flatMap((extension) => extension.role?.(engine) ?? []))),
    ];
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
            tracing,
            ...config,
            handlersDir,
            appVersion: config.appVersion ?? (config.handlersDir && versionNear(config.handlersDir)),
          });
    /** That of the API, and the doors. */
    const servers: HttpServer[] = [];
    const doors: Door[] = [];
    let reload = () => {};
    if (config.port !== undefined) {
      const security = await openSecurity(config, { url: store.url, signer, log, engine });
      started.push(() => security.close());
      const api = {
        engine,
        keyUses: security.keyUses,
        idSecret: secret,
        readiness: ready,
        listeningPort: () => servers[0]?.port ?? 0,
        exposition: parts.exposition ?? (() => metrics.exposition()),
        handlers,
        ownHandlers,
        log,
        tracing,
        stopping: stopping.signal,
        closing: closing.signal,
        checkWebhook: extensions.find((extension) => extension.checkWebhook)?.checkWebhook,
        streams: new Streams(config.maxStreams, stopping.signal),
        ...config,
      };
      reload = () => security.keyRing?.reload();
      const options = { ...config, extensions, security, idSecret: secret };
      const app = config.role === "worker" ? createHealthApp(api, options) : createApp(api, options);
      servers.push(new HttpServer(app, { ...config, port: config.port, log, stopping, closing }));
      const checks = (host: string, setting: string) =>
        answering(api, { ...options, servedHosts: servedHostsOn(host, config, setting) });
      if (config.role !== "worker")
        doors.push(...extensions.flatMap((extension) => extension.doors?.(api, checks) ?? []));
      servers.push(...doors.map(({ server }) => server));
    }
    const stopServer: Stop = (leftMs) => Promise.all(servers.map((server) => server.stop(leftMs, replaced)));
    const stopWorker: Stop = (leftMs) => worker?.stop(leftMs);
    // The API stops first, while the worker continues with the tasks that callers wait for. The server of a worker only serves
    // probes and metrics, which should still work while it drains, so it stops last.
    started.push(...(config.role === "worker" ? [stopServer, stopWorker] : [stopWorker, stopServer]));
    started.push(() => stopping.abort());
    for (const server of servers) await server.start();
    await worker?.start();
    if (config.role !== "worker") {
      const detail = `${hostname()}:${process.pid}, role ${config.role}, version ${packageVersion()}`;
      started.push(() => engine.events.note({ kind: "server-stopping", detail }));
      void engine.events.note({ kind: "server-started", detail });
    }
    return {
      url: servers[0]?.url,
      doors: doors.map((door) => ({ url: door.server.url, description: door.describe() })),
      queues: [...handlers.keys()],
      sample: sampleCall(handlers),
      store: store.description,
      stuck: worker?.stuck,
      reload,
      busy: async () => ({ tasks: worker?.running ?? 0, connections: await connectionsOf(servers) }),
      figures: () => engine.queues.figures([...all.keys()]),
      stop: unwind,
    };
  } catch (error) {
    await unwind();
    throw error;
  }
}

async function connectionsOf(servers: readonly HttpServer[]): Promise<number> {
  const counts = await Promise.all(servers.map((server) => server.connections()));
  return counts.reduce((all, count) => all + count, 0);
}

/** The outcome of some work, unless the signal fires before. */
async function orEnded<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  const ended = once(signal, "abort").then(() => Promise.reject(signal.reason));
  return Promise.race([work, ended]);
}

/** Stops one part; `leftMs` is what is left of the time to stop. */
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
