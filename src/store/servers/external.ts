import { setTimeout as delay } from "node:timers/promises";
import { parseRedisUrl, placeOf, REDIS_URL_FORMS } from "../../config/redis-url.ts";
import { messageOf, StartError } from "../../errors.ts";
import type { Logger } from "../../log.ts";
import { checkServer } from "./check-server.ts";
import { connectOnce, whenLoaded } from "./connect-once.ts";

/** How long to wait for an unreachable Redis, which may be starting at the same time. */
const PATIENCE_MS = 5_000;
const RETRY_MS = 250;

/**
 * Connects to the operator's Redis and checks it.
 * @param signal ends the attempts
 * @returns one line that describes the store, without its password
 * @throws StartError that names host, port and reason, never the password
 */
export async function probeExternal(
  url: string,
  log: Logger,
  patienceMs = PATIENCE_MS,
  signal?: AbortSignal,
): Promise<string> {
  const place = placeIn(url);
  const deadline = performance.now() + patienceMs;
  for (;;) {
    try {
      const redis = await connectOnce(url);
      try {
        await whenLoaded(redis, log, signal);
        const { version } = await checkServer(redis);
        return `store: external, version ${version}, at ${place}`;
      } finally {
        redis.disconnect();
      }
    } catch (error) {
      if (error instanceof StartError) throw new StartError(`${place}: ${error.message}`, { cause: error });
      const refused = refusalOf(error, place);
      if (refused !== undefined) throw new StartError(refused, { cause: error });
      if (performance.now() + RETRY_MS > deadline) {
        throw new StartError(
          `cannot use the store at ${place}: ${reasonOf(error)}; check that it runs and that REDIS_URL is right`,
          {
            cause: error,
          },
        );
      }
    }
    await delay(RETRY_MS, undefined, { signal });
  }
}

/** The address in REDIS_URL, without user and password. */
function placeIn(url: string): string {
  try {
    return placeOf(parseRedisUrl(url));
  } catch (error) {
    throw new StartError(`REDIS_URL is not a valid URL, expected ${REDIS_URL_FORMS}: ${messageOf(error)}`);
  }
}

/** The message for a server that answered with an error that waiting will not change. */
function refusalOf(error: unknown, place: string): string | undefined {
  const message = messageOf(error);
  if (/^WRONGPASS|invalid password/i.test(message)) {
    return `the store at ${place} refuses the user name or password; check those in REDIS_URL`;
  }
  if (/^NOAUTH/.test(message)) {
    return `the store at ${place} needs a password, and REDIS_URL has none: user:password@ before the host`;
  }
  if (/^All sentinels are unreachable.*(NOAUTH|WRONGPASS|invalid password|without any password)/.test(message)) {
    return `the sentinels of ${place} need another user name or password; check sentinel_username and sentinel_password in REDIS_URL`;
  }
  if (/^All sentinels are unreachable/.test(message) && /No such master/.test(message)) {
    return `no sentinel knows ${place}; check the name in REDIS_URL`;
  }
  if (/cluster support disabled/.test(message)) {
    return `the server at ${place} is not a Redis Cluster; use redis://host:port`;
  }
  if (/^NOPERM/.test(message)) return `the store at ${place} does not let this user connect: ${message}`;
  if (/DB index/i.test(message)) return `the store at ${place} has no such database: ${message}`;
  if (/^Protocol error|^Unknown RESP/.test(message))
    return `the server at ${place} is not Redis; check host and port in REDIS_URL`;
  if (/wrong version number/.test(message)) return `the server at ${place} does not speak TLS; should it be redis://?`;
  if (/certificate|SSL|TLS/i.test(message)) return `no connection with the store at ${place}: ${message.trim()}`;
  return undefined;
}

function reasonOf(error: unknown): string {
  const [, last] = /^All sentinels are unreachable.*Last error: (.+)/.exec(messageOf(error)) ?? [];
  // The library does not say why it could not connect to a sentinel or node.
  if ((last ?? messageOf(error)) === "Connection is closed.") return "there is no answer";
  if (last !== undefined) return `no sentinel can be reached: ${last}`;
  return messageOf(error);
}
