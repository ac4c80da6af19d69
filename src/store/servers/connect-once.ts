import { setTimeout as delay } from "node:timers/promises";
import { Cluster, Redis, type RedisOptions } from "ioredis";
import { parseRedisUrl } from "../../config/redis-url.ts";
import { messageOf } from "../../errors.ts";
import type { Logger } from "../../log.ts";
import { type Connection, connectionTo, identityOf, isCluster, sentinelOptions } from "../connection.ts";

const TIMEOUT_MS = 2_000;
const PROGRESS_EVERY_MS = 3_000;
const LOADING_POLL_MS = 100;

const ONCE = {
  lazyConnect: true,
  enableReadyCheck: false,
  autoResendUnfulfilledCommands: false,
  connectTimeout: TIMEOUT_MS,
  commandTimeout: TIMEOUT_MS,
} satisfies RedisOptions;

/**
 * Connects once, without retries or an offline queue. The caller disconnects.
 * @throws the first error, e.g. the system's ECONNREFUSED or the server's WRONGPASS
 */
export async function connectOnce(url: string): Promise<Connection> {
  const connection = makeOnce(url);
  let first: Error | undefined;
  connection.on("error", (error: Error) => {
    first ??= error;
  });
  // For a cluster, errors of nodes are separate events; the error of the connection only says that no node was usable.
  let firstOfNodes: Error | undefined;
  connection.on("node error", (error: Error) => {
    firstOfNodes ??= error;
  });
  try {
    await connection.connect();
    // A missing database is reported only as an event.
    if (first !== undefined && !isCluster(connection)) throw first;
    return connection;
  } catch (error) {
    connection.disconnect();
    throw firstOfNodes ?? first ?? error;
  }
}

function makeOnce(url: string): Connection {
  const address = parseRedisUrl(url);
  if (address.kind === "cluster") {
    return new Cluster([...address.nodes], {
      lazyConnect: true,
      enableReadyCheck: false,
      clusterRetryStrategy: () => null,
      redisOptions: { ...identityOf(address), connectTimeout: TIMEOUT_MS, commandTimeout: TIMEOUT_MS },
    });
  }
  const options = { ...ONCE, retryStrategy: () => null };
  if (address.kind === "single" || address.kind === "socket") return connectionTo(address, options);
  return new Redis({ ...options, ...sentinelOptions(address), sentinelRetryStrategy: () => null });
}

/**
 * Waits until the server has loaded its data and answers PING, if only with the error that it cannot save; logs its progress every few
 * seconds.
 */
export async function whenLoaded(redis: Connection, log: Logger, signal?: AbortSignal): Promise<void> {
  let toldAt = performance.now();
  for (;;) {
    try {
      await redis.ping();
      return;
    } catch (error) {
      if (messageOf(error).startsWith("MISCONF")) return;
      if (!messageOf(error).startsWith("LOADING")) throw error;
    }
    if (performance.now() - toldAt >= PROGRESS_EVERY_MS) {
      toldAt = performance.now();
      const percent = /^loading_loaded_perc:(.+?)\r?$/m.exec(await redis.info("persistence"))?.[1];
      log.info(`the store is loading its data${percent === undefined ? "" : `: ${Math.floor(Number(percent))} %`}`);
    }
    await delay(LOADING_POLL_MS, undefined, { signal });
  }
}
