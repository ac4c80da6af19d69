import { Cluster, Redis, type RedisOptions } from "ioredis";
import { type Endpoint, parseRedisUrl, type RedisAddress } from "../config/redis-url.ts";
import { messageOf } from "../errors.ts";
import type { Logger } from "../log.ts";
import { withTimeout } from "../net/with-timeout.ts";

/** How connections behave, in one place. All milliseconds. */
export const CONNECTION_DEFAULTS = {
  connectMs: 3000,
  /** A command without an answer for so long is given up; the caller hears of it within the 5 s that the API promises. */
  commandMs: 4000,
  /** A socket that owes an answer and is silent for so long is half-open: it is torn down and made anew. */
  silentMs: 4500,
  /** Longest pause between two attempts to connect. */
  retryMs: 1000,
  /** How often an idle connection is asked for a sign of life. */
  pulseMs: 5000,
} as const;

/** The same on a cluster, where there is somewhere else to turn to within {@link CONNECTION_DEFAULTS}.commandMs. */
export const CLUSTER_DEFAULTS = {
  connectMs: 1000,
  /**
   * A node without an answer for so long is given up, and the command tried again where the slot then is. Long enough that
   * a node that is merely busy is not sent everything twice.
   */
  commandMs: 2500,
  silentMs: 3000,
  /** How often the nodes are asked who has which slots, beside whenever one says that a slot has moved. */
  refreshMs: 2000,
  /** How long one node may take to tell. */
  refreshTimeoutMs: 500,
} as const;

/** How long a command on the connection of large values may take, ms: one that is silent is given up much sooner. */
export const LARGE_VALUE_MS = 15_000;

/** A connection to the store: to one server, be it found through sentinels, or to the nodes of a cluster. */
export type Connection = Redis | Cluster;

/** Whether it is one to a cluster. */
export const isCluster = (connection: Connection): connection is Cluster => connection instanceof Cluster;

/** A connection to each server that has keys: itself, or a cluster's masters as far as they are known. */
export const mastersOf = (connection: Connection): readonly Redis[] =>
  isCluster(connection) ? connection.nodes("master") : [connection];

const backoff = (attempt: number): number => Math.min(50 * 2 ** Math.min(attempt, 10), CONNECTION_DEFAULTS.retryMs);

function options(name: string, commandMs: number) {
  return {
    connectionName: `paihao-${name}`,
    lazyConnect: true,
    connectTimeout: CONNECTION_DEFAULTS.connectMs,
    commandTimeout: commandMs,
    socketTimeout: CONNECTION_DEFAULTS.silentMs,
    // Without a connection a caller is told at once, rather than kept in a queue that nobody sees.
    enableOfflineQueue: false,
    // Commands under way when a connection breaks are sent again; the scripts are made for that.
    maxRetriesPerRequest: null,
    retryStrategy: backoff,
    // A master that became a replica: connect anew, where the name may lead to the new master, and send again.
    reconnectOnError: (error: Error) => (error.message.startsWith("READONLY") ? 2 : false),
  } satisfies RedisOptions;
}

/** Who we say we are, and whether over TLS; of all nodes of an address. */
export function identityOf({ login, tls }: Exclude<RedisAddress, { kind: "single" }>) {
  return { ...login, ...(tls ? { tls: {} } : {}) };
}

/** What leads to the master through its sentinels. */
export function sentinelOptions(address: Extract<RedisAddress, { kind: "sentinel" }>) {
  return {
    ...identityOf(address),
    sentinels: address.sentinels.map((sentinel: Endpoint) => ({ ...sentinel })),
    name: address.master,
    db: address.database,
    ...(address.tls ? { enableTLSForSentinelMode: true, sentinelTLS: {} } : {}),
    sentinelCommandTimeout: CLUSTER_DEFAULTS.connectMs,
  } satisfies RedisOptions;
}

function make(address: RedisAddress, name: string, commandMs?: number): Connection {
  const common = options(name, commandMs ?? CONNECTION_DEFAULTS.commandMs);
  if (address.kind === "single") return new Redis(address.url, common);
  if (address.kind === "sentinel") {
    return new Redis({
      ...common,
      ...sentinelOptions(address),
      sentinelRetryStrategy: backoff,
      // A master that hangs keeps its connections: the sentinels tell when there is another.
      failoverDetector: true,
    });
  }
  return new Cluster([...address.nodes], {
    lazyConnect: true,
    enableOfflineQueue: false,
    // A cluster of which a part is down still serves the rest.
    enableReadyCheck: false,
    clusterRetryStrategy: backoff,
    slotsRefreshInterval: CLUSTER_DEFAULTS.refreshMs,
    slotsRefreshTimeout: CLUSTER_DEFAULTS.refreshTimeoutMs,
    // Connected only where a channel is listened to.
    shardedSubscribers: true,
    redisOptions: {
      ...identityOf(address),
      connectionName: common.connectionName,
      connectTimeout: CLUSTER_DEFAULTS.connectMs,
      commandTimeout: commandMs ?? CLUSTER_DEFAULTS.commandMs,
      socketTimeout: CLUSTER_DEFAULTS.silentMs,
      maxRetriesPerRequest: null,
    },
  });
}

/**
 * Opens a connection and waits until it is ready. It reconnects by itself for ever; each loss is logged once.
 * @param name what it is for, as CLIENT LIST shows it
 * @param commandMs how long a command may take, where that is not the usual time
 * @throws Error of the first attempt when that fails
 */
export async function connect(url: string, name: string, log: Logger, commandMs?: number): Promise<Connection> {
  const connection = make(parseRedisUrl(url), name, commandMs);
  let lost = false;
  let lastError = "";
  connection.on("error", (error: unknown) => {
    lastError = messageOf(error);
  });
  let wanted = true;
  connection.on("close", () => {
    if (!lost && wanted && connection.status !== "end")
      log.warn({ connection: name, reason: lastError }, "connection to the store lost");
    lost = true;
  });
  // A cluster's says that it is closed before it says that it was meant to be.
  connection.on("disconnecting", () => {
    wanted = false;
  });
  connection.on("ready", () => {
    if (lost) log.info({ connection: name }, "connection to the store is back");
    lost = false;
    wanted = true;
  });
  if (isCluster(connection)) tellOfNodes(connection, name, log);
  // A quiet connection that has died silently would be noticed only by the next command: ask now and then.
  const pulse = setInterval(() => {
    for (const node of mastersOf(connection)) if (node.status === "ready") node.ping().catch(() => undefined);
  }, CONNECTION_DEFAULTS.pulseMs);
  // Who leaves a store that is away is not told of an end, and must be able to end all the same.
  pulse.unref();
  connection.on("end", () => clearInterval(pulse));
  try {
    // Sentinels that know no master and a cluster that tells no slots are asked again for ever: a start must not be.
    const late = () => new Error(lastError || `no answer within ${CONNECTION_DEFAULTS.commandMs} ms`);
    await withTimeout(CONNECTION_DEFAULTS.commandMs, connection.connect(), late);
    return connection;
  } catch (error) {
    connection.disconnect();
    clearInterval(pulse);
    throw error;
  }
}

/** Logs once when a node of a cluster is away, and once when it is back. */
function tellOfNodes(cluster: Cluster, name: string, log: Logger): void {
  const away = new Set<string>();
  cluster.on("node error", (error: unknown, node: string) => {
    if (!away.has(node)) log.warn({ connection: name, node, reason: messageOf(error) }, "a node of the store is away");
    away.add(node);
  });
  cluster.on("+node", (node: Redis) => {
    const key = `${node.options.host}:${node.options.port}`;
    node.on("ready", () => {
      if (away.delete(key)) log.info({ connection: name, node: key }, "a node of the store is back");
    });
  });
}
