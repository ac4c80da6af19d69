import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import type { ConnectionOptions } from "node:tls";
import { Cluster, Redis, type RedisOptions } from "ioredis";
import { backoffMs } from "../backoff.ts";
import { type Endpoint, parseRedisUrl, placeOf, type RedisAddress, type TlsFiles } from "../config/redis-url.ts";
import { messageOf, StartError } from "../errors.ts";
import type { Logger } from "../log.ts";
import { withTimeout } from "../net/deadline.ts";

/** Timeouts and intervals of connections, ms. */
export const CONNECTION_DEFAULTS = {
  connectMs: 3000,
  /** Command timeout. Below the 5 s within which the API promises `store-unavailable`. */
  commandMs: 4000,
  /** A socket with a reply outstanding that is silent for this long counts as half-open and is replaced. */
  silentMs: 4500,
  /** Longest pause between two connection attempts. */
  retryMs: 1000,
  /** How often an idle connection is pinged. */
  pulseMs: 5000,
} as const;

/** The same for a cluster, where another node can be tried within {@link CONNECTION_DEFAULTS}.commandMs. */
export const CLUSTER_DEFAULTS = {
  connectMs: 1000,
  /**
   * Command timeout of a node; the command is then retried on the node that has the slot. Long enough not to send everything
   * twice to a node that is merely busy.
   */
  commandMs: 2500,
  silentMs: 3000,
  /** How often the slot table is read, in addition to whenever a node reports a moved slot. */
  refreshMs: 2000,
  /** Timeout for reading the slot table from one node. */
  refreshTimeoutMs: 500,
} as const;

/** Command timeout on the connection of large values, ms. A silent connection is replaced much sooner. */
export const LARGE_VALUE_MS = 15_000;

/** A connection to the store: to one server, perhaps found through sentinels, or to the nodes of a cluster. */
export type Connection = Redis | Cluster;

/** Whether a connection is to a cluster. */
export const isCluster = (connection: Connection): connection is Cluster => connection instanceof Cluster;

/** A connection to each server with keys: the single server, or the known masters of a cluster. */
export const mastersOf = (connection: Connection): readonly Redis[] =>
  isCluster(connection) ? connection.nodes("master") : [connection];

/** Where a connection leads, without user and password: a host and port, a socket, the master that sentinels know, or nodes. */
export function placeOfConnection(connection: Connection): string {
  if (isCluster(connection)) return connection.nodes("all").map(placeOfConnection).join(", ") || "its cluster";
  const { path, name, sentinels, host, port } = connection.options;
  return path ?? (sentinels && name !== undefined ? `master ${name}` : `${host}:${port}`);
}

const backoff = (attempt: number): number => backoffMs({ baseMs: 100, maxMs: CONNECTION_DEFAULTS.retryMs }, attempt);

function options(name: string, commandMs: number) {
  return {
    connectionName: `paihao-${name}`,
    lazyConnect: true,
    connectTimeout: CONNECTION_DEFAULTS.connectMs,
    commandTimeout: commandMs,
    socketTimeout: CONNECTION_DEFAULTS.silentMs,
    // Without a connection commands fail at once, instead of waiting in a queue.
    enableOfflineQueue: false,
    // Commands in flight when a connection breaks are sent again; the scripts are idempotent.
    maxRetriesPerRequest: null,
    retryStrategy: backoff,
    // The master became a replica: reconnect, since the name may lead to the new master.
    reconnectOnError: (error: Error) => error.message.startsWith("READONLY"),
  } satisfies RedisOptions;
}

/** Makes a connection to the one server at an address. */
export function connectionTo(
  address: Extract<RedisAddress, { kind: "single" | "socket" }>,
  options: RedisOptions & { replyMapping?: "legacy" },
): Redis {
  const common = { ...options, ...address.login, db: address.database };
  if (address.kind === "socket") return new Redis({ ...common, path: address.path });
  const { host, port, tls } = address;
  return new Redis({ ...common, host, port, ...(tls && { tls: tlsOptions(tls) }) });
}

/** Login and TLS options for all nodes of an address. */
export function identityOf({
  login,
  tls,
}: Pick<Extract<RedisAddress, { kind: "cluster" | "sentinel" }>, "login" | "tls">) {
  return { ...login, ...(tls ? { tls: tlsOptions(tls) } : {}) };
}

/** The options to find the master through its sentinels. */
export function sentinelOptions(address: Extract<RedisAddress, { kind: "sentinel" }>) {
  const { username, password } = address.sentinelLogin;
  return {
    ...identityOf(address),
    sentinels: address.sentinels.map((sentinel: Endpoint) => ({ ...sentinel })),
    name: address.master,
    db: address.database,
    ...(username === undefined ? {} : { sentinelUsername: username }),
    ...(password === undefined ? {} : { sentinelPassword: password }),
    ...(address.tls ? { enableTLSForSentinelMode: true, sentinelTLS: tlsOptions(address.tls) } : {}),
    sentinelCommandTimeout: CLUSTER_DEFAULTS.connectMs,
  } satisfies RedisOptions;
}

/** What a connection is for. */
interface Purpose {
  /** Shown by CLIENT LIST. */
  readonly name: string;
  /** Command timeout; default {@link CONNECTION_DEFAULTS}.commandMs. */
  readonly commandMs?: number;
  /** Whether it is used for subscriptions, which make each refresh of the slot table of a cluster more expensive. Default: false. */
  readonly subscriber?: boolean;
  /** Called when the connection, or one to a node of a cluster, is back, with how long it was lost, ms. */
  onBack?(lostMs: number): void;
}

function make(address: RedisAddress, { name, commandMs, subscriber = false }: Purpose): Connection {
  const common = options(name, commandMs ?? CONNECTION_DEFAULTS.commandMs);
  if (address.kind === "single" || address.kind === "socket") return connectionTo(address, common);
  if (address.kind === "sentinel") {
    return new Redis({
      ...common,
      ...sentinelOptions(address),
      sentinelRetryStrategy: backoff,
      // A master that hangs keeps its connections open: the sentinels report when there is a new one.
      failoverDetector: true,
    });
  }
  return new Cluster([...address.nodes], {
    lazyConnect: true,
    enableOfflineQueue: false,
    // A cluster that is partly down still serves the rest.
    enableReadyCheck: false,
    clusterRetryStrategy: backoff,
    slotsRefreshInterval: CLUSTER_DEFAULTS.refreshMs,
    slotsRefreshTimeout: CLUSTER_DEFAULTS.refreshTimeoutMs,
    // Connects only to shards with a subscribed channel.
    shardedSubscribers: subscriber,
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
 * Opens a connection and waits until it is ready. It reconnects forever; each loss is logged once.
 * @throws the error of the first attempt if that fails
 */
export async function connect(
  url: string,
  name: string,
  log: Logger,
  options: Omit<Purpose, "name"> = {},
): Promise<Connection> {
  const address = parseRedisUrl(url);
  const connection = make(address, { ...options, name });
  const about = { connection: name, store: placeOf(address) };
  let lost = false;
  let lostAtMs = 0;
  let lastError = "";
  connection.on("error", (error: unknown) => {
    lastError = messageOf(error);
  });
  let wanted = true;
  connection.on("close", () => {
    if (!lost && wanted && connection.status !== "end")
      log.warn({ ...about, reason: lastError || "it was closed" }, "connection to the store lost; reconnecting");
    if (!lost) lostAtMs = performance.now();
    lost = true;
  });
  // A cluster connection emits "close" before "end", so only "disconnecting" shows early that it was closed on purpose.
  connection.on("disconnecting", () => {
    wanted = false;
  });
  connection.on("ready", () => {
    if (lost) {
      log.info(about, "connection to the store is back");
      options.onBack?.(performance.now() - lostAtMs);
    }
    lost = false;
    wanted = true;
  });
  if (isCluster(connection)) tellOfNodes(connection, name, log, options.onBack);
  // Without a ping, an idle connection that has died silently would be noticed only by the next command.
  const pulse = setInterval(() => {
    for (const node of mastersOf(connection)) if (node.status === "ready") node.ping().catch(() => undefined);
  }, CONNECTION_DEFAULTS.pulseMs);
  // If the store is unreachable there may be no "end" event, and the process must be able to exit anyway.
  pulse.unref();
  connection.on("end", () => clearInterval(pulse));
  try {
    // ioredis retries forever if sentinels know no master or a cluster reports no slots; a start must not.
    const late = () => new Error(lastError || `no answer within ${CONNECTION_DEFAULTS.commandMs} ms`);
    await withTimeout(CONNECTION_DEFAULTS.commandMs, connection.connect(), late);
    return connection;
  } catch (error) {
    connection.disconnect();
    clearInterval(pulse);
    throw error;
  }
}

/** Logs once when a node of a cluster becomes unreachable, and once when it is back. */
function tellOfNodes(cluster: Cluster, name: string, log: Logger, onBack: Purpose["onBack"]): void {
  const away = new Map<string, number>();
  cluster.on("node error", (error: unknown, node: string) => {
    if (!away.has(node))
      log.warn({ connection: name, node, reason: messageOf(error) }, "a node of the store cannot be reached; retrying");
    if (!away.has(node)) away.set(node, performance.now());
  });
  cluster.on("+node", (node: Redis) => {
    const key = `${node.options.host}:${node.options.port}`;
    node.on("ready", () => {
      const sinceMs = away.get(key);
      if (sinceMs === undefined) return;
      away.delete(key);
      log.info({ connection: name, node: key }, "a node of the store is back");
      onBack?.(performance.now() - sinceMs);
    });
  });
}

/**
 * The options of a TLS connection.
 * @throws StartError that names a file that cannot be read or has the wrong content, or a key that does not belong to the certificate
 */
function tlsOptions({ ca, cert, key }: TlsFiles): Pick<ConnectionOptions, "ca" | "cert" | "key"> {
  const authorities = read(ca, "a certificate in PEM", (pem) => new X509Certificate(pem));
  const certificate = read(cert, "a certificate in PEM", (pem) => new X509Certificate(pem));
  const own = read(key, "a private key in PEM, without a passphrase", createPrivateKey);
  if (certificate && own && !certificate.parsed.checkPrivateKey(own.parsed)) {
    throw new StartError(`the key ${key} does not belong to the certificate ${cert}`);
  }
  return {
    ...(authorities && { ca: authorities.pem }),
    ...(certificate && { cert: certificate.pem }),
    ...(own && { key: own.pem }),
  };
}

function read<T>(
  file: string | undefined,
  what: string,
  parse: (pem: string) => T,
): { pem: string; parsed: T } | undefined {
  if (file === undefined) return undefined;
  let pem: string;
  try {
    pem = readFileSync(file, "utf8");
  } catch (error) {
    throw new StartError(`REDIS_URL names ${file}, which cannot be read: ${messageOf(error)}`, { cause: error });
  }
  try {
    return { pem, parsed: parse(pem) };
  } catch (error) {
    throw new StartError(`${file}, which REDIS_URL names, is not ${what}`, { cause: error });
  }
}
