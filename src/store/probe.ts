import { setTimeout as delay } from "node:timers/promises";
import { Redis } from "ioredis";
import { messageOf } from "../errors.ts";
import type { Logger } from "../log.ts";

const TIMEOUT_MS = 2_000;
const PROGRESS_EVERY_MS = 3_000;
const LOADING_POLL_MS = 100;

/**
 * Connects once: no retry, nothing queued or sent twice. The caller disconnects.
 * @throws the first reason there is, e.g. the system's ECONNREFUSED or the server's WRONGPASS
 */
export async function connectOnce(url: string): Promise<Redis> {
  const redis = new Redis(url, {
    lazyConnect: true,
    enableReadyCheck: false,
    retryStrategy: () => null,
    autoResendUnfulfilledCommands: false,
    connectTimeout: TIMEOUT_MS,
    commandTimeout: TIMEOUT_MS,
  });
  let first: Error | undefined;
  redis.on("error", (error: Error) => {
    first ??= error;
  });
  try {
    await redis.connect();
    // A database that is not there is only told as an event.
    if (first !== undefined) throw first;
    return redis;
  } catch (error) {
    redis.disconnect();
    throw first ?? error;
  }
}

/** Waits until the server answers PING, for as long as it loads its data, and tells every few seconds how far it is. */
export async function whenLoaded(redis: Redis, log: Logger, signal?: AbortSignal): Promise<void> {
  let toldAt = performance.now();
  for (;;) {
    try {
      await redis.ping();
      return;
    } catch (error) {
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
