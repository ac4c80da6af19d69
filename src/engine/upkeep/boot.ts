import { setTimeout as delay } from "node:timers/promises";
import { type Config, secretsOf } from "../../config/config.ts";
import { messageOf, ProblemError, reasonOf, StartError } from "../../errors.ts";
import { defineHandler, type Handler } from "../../handler/define.ts";
import type { Logger } from "../../log.ts";
import type { StoreNode } from "../../metrics/gauges.ts";
import { Metrics } from "../../metrics/metrics.ts";
import { redaction } from "../../redact.ts";
import { type Connection, connect, LARGE_VALUE_MS } from "../../store/connection.ts";
import { checkDurability, durabilityProblem } from "../../store/durability.ts";
import { Keys } from "../../store/keys.ts";
import type { LibraryPart } from "../../store/library/assemble.ts";
import { libraryOf, reserveOn, scriptsOf } from "../../store/library/scripts.ts";
import { openStandby } from "../../store/line/standby.ts";
import { PubSub } from "../../store/pubsub.ts";
import { missingRights } from "../../store/rights.ts";
import { checkServer, readNodes } from "../../store/servers/check-server.ts";
import { refusalOf } from "../../store/store-error.ts";
import { packageVersion } from "../../version.ts";
import { Engine } from "../engine.ts";
import { settingsOf } from "../settings.ts";
import { Deployment } from "./deployment.ts";

/** How long a start waits for a store that takes no writes, since a failover may be under way. */
const PATIENCE_MS = 5000;
const RETRY_MS = 250;
/** How often a start that waits says so. */
const TELL_MS = 60_000;
const NO_ROOM =
  "the store is full and lacks the functions of this release, which need 1 MB: raise its maxmemory for now (CONFIG SET maxmemory), or delete what other programs keep in it; results that expire make room too";
/**
 * Maximum number of queues whose requests for work wait in the store: each needs a connection of its own, and a store may not allow many.
 */
const MAX_STANDBYS = 16;

/** An engine with its own connections to a store. */
export interface OpenedEngine {
  readonly engine: Engine;
  /** Shared by all processes on this store, and by no others. */
  readonly secret: Deployment["secret"];
  /** Why the store cannot be used; empty if it can be. */
  readiness(): Promise<readonly string[]>;
  /** What the servers of the store report of themselves. */
  nodes(): Promise<readonly StoreNode[]>;
  close(): void;
}

/**
 * Connects to a store, checks that it suits the configuration, and creates an engine on it.
 * @param parts what the library in the store has besides the core
 * @throws StartError if the store is too old, refuses writes (all, or those of its user), has data of a version that this release cannot
 *   work with, was used with another number of partitions, or cannot provide the configured durability
 */
export async function openEngine(
  config: Config,
  url: string,
  handlers: Iterable<Handler>,
  log: Logger,
  parts: readonly LibraryPart[] = [],
): Promise<OpenedEngine> {
  const connections: { disconnect(): void }[] = [];
  const open = async (name: string, options?: Parameters<typeof connect>[3]) => {
    const redis = await connect(url, name, log, options);
    connections.push(redis);
    return redis;
  };
  let deployment: Deployment | undefined;
  let opened: Engine | undefined;
  const close = () => {
    deployment?.close();
    for (const redis of connections.splice(0)) redis.disconnect();
  };
  try {
    const redis = await open("commands", { onBack: (lostMs) => void opened?.events.storeWasAway(lostMs) });
    const { version, warnings } = await checkServer(redis);
    for (const warning of warnings) log.warn(warning);
    await checkDurability(redis, config.durability, version);
    const keys = new Keys(config.keyPrefix, config.partitions);
    const { durability, strictResultTtl } = config;
    const used = { strictResultTtl, parts };
    const scripts = scriptsOf(redis, used);
    await whenUsable({ connection: redis, keys, config, parts }, log);
    // First of all, so that data of a version that this release cannot work with stays untouched.
    const claimed = await Deployment.open(scripts, keys, redis, log);
    deployment = claimed;

    const library = libraryOf(redis, used);
    // That of the release before stays: a store that is full could not load it again.
    const [, , ...older] = await scripts.libraries(keys.tag(0), { name: library.name });
    await library.install(redis, older, log);

    const submissions =
      durability === "memory" ? undefined : scriptsOf(await open("submissions"), { durability, ...used });
    const large = scriptsOf(await open("large-values", { commandMs: LARGE_VALUE_MS }), used);
    const standbyParts = {
      ...{ keys, log, commands: redis, connect: () => open("standby") },
      reserveOn: (own: Connection) => reserveOn(own, used),
    };
    let standbys = 0;
    const metrics = new Metrics(packageVersion());
    metrics.observeProcess();
    const engine = new Engine({
      scripts,
      large,
      keys,
      pubsub: new PubSub(await open("pubsub", { subscriber: true })),
      queues: new Map([...handlers].map((handler) => [handler.queue, settingsOf(handler, config)])),
      fallback: settingsOf(defineHandler({ queue: "unknown", run: () => undefined }), config),
      metrics,
      redacted: redaction(secretsOf(config)),
      openStandby: (queue) => {
        standbys += 1;
        return standbys > MAX_STANDBYS ? Promise.resolve(undefined) : openStandby(queue, standbyParts);
      },
      ...(submissions && { submissions }),
    });
    opened = engine;
    const readiness = async (): Promise<readonly string[]> => {
      try {
        const { warnings } = await checkServer(redis);
        // The same in a cluster: some partitions may take writes that others refuse.
        const refusals = engine.upkeep.refusals.size < keys.partitions ? [] : new Set(engine.upkeep.refusals.values());
        // A process that accepts nothing needs no confirmation.
        const unconfirmed = config.role === "worker" ? undefined : await durabilityProblem(redis, durability);
        return [...warnings, claimed.problem, ...refusals, unconfirmed].filter((reason) => reason !== undefined);
      } catch (error) {
        return [`the store cannot be reached: ${messageOf(error)}`];
      }
    };
    return { engine, secret: claimed.secret, readiness, nodes: () => readNodes(redis), close };
  } catch (error) {
    close();
    // The store has failed since the check; a stack would not help.
    if (error instanceof ProblemError) throw new StartError(refusalOf(error) ?? reasonOf(error), { cause: error });
    throw error;
  }
}

/**
 * Waits until the store takes writes, for a while; and until it has the library, for however long it is full: the tasks that fill it cannot
 * run before. @throws StartError that says why it takes no writes, or what its user may not do
 */
async function whenUsable(parts: Parameters<typeof missingRights>[0], log: Logger): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  for (let tellAtMs = 0; ; ) {
    try {
      const missing = await missingRights(parts);
      if (missing === undefined) return;
      throw new StartError(missing);
    } catch (error) {
      if (!(error instanceof ProblemError)) throw error;
      // With the library, nothing that a start does needs room.
      const isFull = error.code === "store-full";
      const reason = isFull ? NO_ROOM : (refusalOf(error) ?? reasonOf(error));
      const nowMs = performance.now();
      if (!isFull && nowMs + RETRY_MS > deadline) throw new StartError(reason, { cause: error });
      if (nowMs >= tellAtMs) log.warn({ reason }, "the store cannot be used yet; waiting for it");
      if (nowMs >= tellAtMs) tellAtMs = nowMs + TELL_MS;
    }
    await delay(RETRY_MS);
  }
}
