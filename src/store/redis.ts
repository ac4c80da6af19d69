import { Redis, type RedisOptions } from "ioredis";
import { messageOf } from "../errors.ts";
import type { Logger } from "../log.ts";

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

function options(name: string) {
  return {
    connectionName: `paihao-${name}`,
    lazyConnect: true,
    connectTimeout: CONNECTION_DEFAULTS.connectMs,
    commandTimeout: CONNECTION_DEFAULTS.commandMs,
    socketTimeout: CONNECTION_DEFAULTS.silentMs,
    // Without a connection a caller is told at once, rather than kept in a queue that nobody sees.
    enableOfflineQueue: false,
    // Commands under way when a connection breaks are sent again; the scripts are made for that.
    maxRetriesPerRequest: null,
    retryStrategy: (attempt: number) => Math.min(50 * 2 ** Math.min(attempt, 10), CONNECTION_DEFAULTS.retryMs),
    // A master that became a replica: connect anew, where the name may lead to the new master, and send again.
    reconnectOnError: (error: Error) => (error.message.startsWith("READONLY") ? 2 : false),
  } satisfies RedisOptions;
}

/**
 * Opens a connection and waits until it is ready. It reconnects by itself for ever; each loss is logged once.
 * @param name what it is for, as CLIENT LIST shows it
 * @throws Error of the first attempt when that fails
 */
export async function connect(url: string, name: string, log: Logger): Promise<Redis> {
  const redis = new Redis(url, options(name));
  let lost = false;
  let lastError = "";
  redis.on("error", (error) => {
    lastError = messageOf(error);
  });
  redis.on("close", () => {
    if (!lost && redis.status !== "end")
      log.warn({ connection: name, reason: lastError }, "connection to the store lost");
    lost = true;
  });
  redis.on("ready", () => {
    if (lost) log.info({ connection: name }, "connection to the store is back");
    lost = false;
  });
  // A quiet connection that has died silently would be noticed only by the next command: ask now and then.
  const pulse = setInterval(() => {
    if (redis.status === "ready") redis.ping().catch(() => undefined);
  }, CONNECTION_DEFAULTS.pulseMs);
  redis.on("end", () => clearInterval(pulse));
  await redis.connect();
  return redis;
}
