import { setTimeout as delay } from "node:timers/promises";
import type { Redis } from "ioredis";
import { messageOf, reasonOf } from "../../errors.ts";
import type { Logger } from "../../log.ts";
import { type Connection, isCluster } from "../connection.ts";
import type { Keys } from "../keys.ts";
import type { Scripts } from "../library/scripts.ts";
import { readInfo } from "../servers/check-server.ts";
import type { Reservation, ReserveAnswer } from "./reserve.ts";

/** Pause between two attempts to end a wait, ms: an attempt may arrive before the request that it ends. */
const AGAIN_MS = 20;
/** How often a new connection is tried after one was abandoned, ms. */
const REOPEN_MS = 5000;

/** Errors of a store that does not let its user call a command. */
const REFUSED = /^(NOPERM|ERR|WRONGTYPE)/;

/** The dependencies of {@link openStandby}. */
interface StandbyParts {
  readonly keys: Keys;
  readonly log: Logger;
  /** The connection for all other commands. */
  readonly commands: Connection;
  /** Opens a connection of its own. */
  connect(): Promise<Connection>;
  reserveOn(connection: Connection): Scripts["reserve"];
}

/**
 * Opens a {@link Standby} for a queue; undefined if the store is a cluster, cannot be reached, or does not allow the
 * commands. Workers then learn of work by messages, as they also do while requests do not wait.
 */
export async function openStandby(queue: string, parts: StandbyParts): Promise<Standby | undefined> {
  const { log, commands } = parts;
  if (isCluster(commands)) return undefined;
  try {
    return new Standby(queue, { ...parts, commands }, await openOwn(parts, commands));
  } catch (error) {
    log.debug({ queue, reason: reasonOf(error) }, "standby: requests for work cannot wait in the store");
    return undefined;
  }
}

/** The identity of a connection in the store. */
interface Client {
  readonly id: number;
  /** The run id of the server: after a restart it gives the same client ids to others. */
  readonly run: string | undefined;
}

/** A connection on which requests wait. */
interface OwnConnection {
  readonly redis: Redis;
  readonly client: Client;
}

const runOf = async (redis: Redis): Promise<string | undefined> => (await readInfo(redis)).get("run_id");

async function clientOf(redis: Redis): Promise<Client> {
  const [id, run] = await Promise.all([redis.client("ID"), runOf(redis)]);
  return { id, run };
}

/** @throws Error if it cannot be opened, or may not be used */
async function openOwn(parts: StandbyParts, commands: Redis): Promise<OwnConnection> {
  const redis = await parts.connect();
  try {
    if (isCluster(redis)) throw new Error("the store is a cluster");
    const client = await clientOf(redis);
    // Checks that the command is allowed; nothing waits yet.
    await commands.client("UNBLOCK", client.id);
    return { redis, client };
  } catch (error) {
    redis.disconnect();
    throw error;
  }
}

/**
 * Requests of an idle worker that wait in the store for work. Redis runs the commands of a connection one after the other, so a reservation
 * sent after BZPOPMIN runs as soon as a submission adds to the empty line, or another worker leaves tasks in it. This saves the round trip of a worker that gets a message first
 * and then asks.
 *
 * A process that stands still may be given tasks for as long as its last request waits.
 */
export class Standby {
  readonly #queue: string;
  readonly #parts: StandbyParts & { readonly commands: Redis };
  readonly #tag: string;
  /** The key that is set by a submission to an empty line, and by a reservation that leaves some. */
  readonly #wake: string;
  #own: Redis;
  #reserve: Scripts["reserve"];
  /** What the store calls the connection; undefined while it is unknown. */
  #client: Client | undefined;
  /** The last known identity. */
  #lastClient: Client;
  /** The connection that was abandoned last. */
  #abandoned: Redis | undefined;
  /** When the last request on it has waited long enough, monotonic ms. */
  #waitsUntil = 0;
  #waiting = false;
  #refused = false;
  #cutting: Promise<void> | undefined;
  /** Set once the connection was abandoned; another one is tried from time to time. */
  #reopening: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(queue: string, parts: StandbyParts & { readonly commands: Redis }, own: OwnConnection) {
    this.#queue = queue;
    this.#parts = parts;
    this.#tag = parts.keys.tagOfQueue(queue);
    this.#wake = parts.keys.start(this.#tag, "wake") + queue;
    this.#own = own.redis;
    this.#lastClient = own.client;
    this.#reserve = this.#use(own);
  }

  #use({ redis, client }: OwnConnection): Scripts["reserve"] {
    this.#own = redis;
    this.#client = client;
    this.#lastClient = client;
    redis.on("close", () => {
      if (this.#own === redis) this.#client = undefined;
    });
    redis.on("ready", () => void this.#identify(redis));
    return this.#parts.reserveOn(redis);
  }

  async #identify(redis: Redis): Promise<void> {
    const client = await clientOf(redis).catch(() => undefined);
    if (this.#own !== redis || this.#reopening) return;
    this.#client = client;
    if (client !== undefined) this.#lastClient = client;
  }

  /**
   * Abandons a connection that is lost and does not come back, so that none of its requests can still run and they may be sent on another
   * one. A new connection is tried from time to time.
   * @throws Error if the store cannot be reached at all
   */
  async abandon(): Promise<void> {
    const { commands, log } = this.#parts;
    // It must not send its requests again if it comes back. Once: each call leaves a listener and a timer on the socket.
    if (this.#abandoned !== this.#own) this.#own.disconnect();
    this.#abandoned = this.#own;
    this.#client = undefined;
    const { id, run } = this.#lastClient;
    try {
      // On a restarted or another server, the id belongs to another client, and nothing waits.
      if ((await runOf(commands)) === run) await commands.client("KILL", "ID", id);
    } catch (error) {
      if (!REFUSED.test(messageOf(error))) throw error;
      // The user may not end connections: the wait ends by itself.
      await delay(Math.max(0, this.#waitsUntil - performance.now()));
    }
    if (this.#reopening || this.#closed) return;
    log.warn({ queue: this.#queue }, "standby: the connection on which requests wait is lost; asking on the usual one");
    this.#reopening = setInterval(() => void this.#reopen(), REOPEN_MS).unref();
  }

  async #reopen(): Promise<void> {
    const own = await openOwn(this.#parts, this.#parts.commands).catch(() => undefined);
    if (!own) return;
    if (this.#closed || !this.#reopening) return own.redis.disconnect();
    clearInterval(this.#reopening);
    this.#reopening = undefined;
    this.#reserve = this.#use(own);
    this.#parts.log.info({ queue: this.#queue }, "standby: requests can wait in the store again");
  }

  /** Whether a request can wait now. */
  get usable(): boolean {
    return this.#client !== undefined && !this.#refused;
  }

  /** Whether a request waits. */
  get waiting(): boolean {
    return this.#waiting;
  }

  /**
   * Waits for work, at most for `waitMs`; then reserves whatever is there.
   * @throws ProblemError store-unavailable
   */
  reserve(request: Reservation, waitMs: number): Promise<ReserveAnswer> {
    if (waitMs > 0) {
      this.#waiting = true;
      this.#waitsUntil = performance.now() + waitMs;
      this.#own.bzpopmin(this.#wake, waitMs / 1000).then(
        () => this.#waited(),
        (error: unknown) => {
          this.#waited();
          this.#refused ||= REFUSED.test(messageOf(error));
        },
      );
    }
    return this.#reserve(this.#tag, request);
  }

  #waited(): void {
    this.#waiting = false;
  }

  /** Ends the wait: the reservation runs now. */
  cut(): Promise<void> {
    this.#cutting ??= this.#cut().finally(() => {
      this.#cutting = undefined;
    });
    return this.#cutting;
  }

  async #cut(): Promise<void> {
    while (this.#waiting && this.#client !== undefined) {
      const cut = await this.#parts.commands.client("UNBLOCK", this.#client.id).catch(() => 0);
      if (cut === 1) return;
      await delay(AGAIN_MS);
    }
  }

  close(): void {
    this.#closed = true;
    clearInterval(this.#reopening);
    this.#own.disconnect();
  }
}
