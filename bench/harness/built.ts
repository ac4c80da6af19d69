import type { Engine } from "../../src/engine/engine.ts";
import type { Handler, HandlerOptions } from "../../src/handler/define.ts";
import type { Logger } from "../../src/log.ts";
import type { Connection } from "../../src/store/connection.ts";

/** A module of the build, so that the shipped code is measured. Its types are those of its source. */
export function built<T>(module: string): Promise<T> {
  return import(new URL(`../../dist/${module}`, import.meta.url).href) as Promise<T>;
}

/** An engine of the build, with everything it needs. */
export interface BuiltEngine {
  readonly engine: Engine;
  readonly redis: Connection;
  readonly handlers: ReadonlyMap<string, Handler>;
  readonly log: Logger;
  close(): void;
}

/** The options of a handler of the benchmarks. */
export interface BenchHandler {
  readonly queue: string;
  readonly concurrency: number;
  readonly batch?: { readonly max: number; readonly wait: string };
  run(input: unknown): unknown;
}

/** Creates an engine on a store, as server.ts does. */
export async function openBuiltEngine(
  url: string,
  prefix: string,
  wanted: readonly BenchHandler[],
  partitions = 1,
): Promise<BuiltEngine> {
  const [
    { readConfig },
    { createLog },
    { defineHandler },
    { connect },
    { Keys },
    { reserveOn, scriptsOf },
    { PubSub },
  ] = await Promise.all([
    built<typeof import("../../src/config/config.ts")>("config/config.js"),
    built<typeof import("../../src/log.ts")>("log.js"),
    built<typeof import("../../src/handler/define.ts")>("handler/define.js"),
    built<typeof import("../../src/store/connection.ts")>("store/connection.js"),
    built<typeof import("../../src/store/keys.ts")>("store/keys.js"),
    built<typeof import("../../src/store/library/scripts.ts")>("store/library/scripts.js"),
    built<typeof import("../../src/store/pubsub.ts")>("store/pubsub.js"),
  ]);
  const { openStandby } = await built<typeof import("../../src/store/line/standby.ts")>("store/line/standby.js");
  const [{ Engine }, { settingsOf }] = await Promise.all([
    built<typeof import("../../src/engine/engine.ts")>("engine/engine.js"),
    built<typeof import("../../src/engine/settings.ts")>("engine/settings.js"),
  ]);
  const config = readConfig({ MAX_WAITING: "100000000" });
  const log = createLog("warn");
  const redis = await connect(url, "bench", log);
  const subscriber = await connect(url, "bench-pubsub", log, { subscriber: true });
  const handlers = new Map(
    wanted.map((handler) => [handler.queue, defineHandler(handler as object as HandlerOptions<unknown>)]),
  );
  const settings = new Map([...handlers].map(([queue, handler]) => [queue, settingsOf(handler, config)]));
  const keys = new Keys(prefix, partitions);
  const engine = new Engine({
    scripts: scriptsOf(redis),
    keys,
    openStandby: (queue) =>
      openStandby(queue, {
        ...{ keys, log, commands: redis, connect: () => connect(url, "bench-standby", log) },
        reserveOn: (own) => reserveOn(own),
      }),
    pubsub: new PubSub(subscriber),
    queues: settings,
    fallback: settingsOf(defineHandler({ queue: "unknown", run: () => undefined }), config),
  });
  return {
    engine,
    redis,
    handlers,
    log,
    close() {
      redis.disconnect();
      subscriber.disconnect();
    },
  };
}
