import { setTimeout as delay } from "node:timers/promises";
import type { Redis } from "ioredis";
import { messageOf, reasonOf } from "../errors.ts";
import type { Logger } from "../log.ts";
import { type Connection, isCluster } from "./connection.ts";
import type { Keys } from "./keys.ts";
import type { Reservation, ReservedPart, Scripts } from "./scripts/scripts.ts";

/** Pause between two attempts to end a wait, ms: the first may have overtaken it on its way to the store. */
const AGAIN_MS = 20;

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
 * Opens a {@link Standby} of a queue in partition 0; undefined if the store is a cluster, cannot be reached, or does not let its
 * user do what that needs. Workers then learn of work by messages, as they also do while requests do not wait.
 */
export async function openStandby(queue: string, parts: StandbyParts): Promise<Standby | undefined> {
  const { keys, log, commands } = parts;
  if (isCluster(commands)) return undefined;
  let own: Connection | undefined;
  try {
    own = await parts.connect();
    if (isCluster(own)) throw new Error("the store is a cluster");
    const client = await own.client("ID");
    // Whether it may be used: nothing waits yet.
    await commands.client("UNBLOCK", client);
    return new Standby({ keys, queue, own, commands, reserve: parts.reserveOn(own) }, client);
  } catch (error) {
    own?.disconnect();
    log.debug({ queue, reason: reasonOf(error) }, "standby: requests for work cannot wait in the store");
    return undefined;
  }
}

/**
 * Requests of an idle worker that wait in the store for work. Redis takes the commands of a connection one after the other: a
 * reservation that is sent behind BZPOPMIN runs as soon as a submission adds to the empty line. So the worker need not be told of
 * the work before it asks for it, which saves a round trip.
 *
 * A process that stands still is given tasks for as long as its last request waits, at most.
 */
export class Standby {
  readonly #own: Redis;
  readonly #commands: Redis;
  readonly #reserve: Scripts["reserve"];
  readonly #tag: string;
  /** The key that a submission to an empty line sets. */
  readonly #wake: string;
  /** The id of the connection in the store; undefined while it is unknown. */
  #client: number | undefined;
  #waiting = false;
  #refused = false;
  #cutting: Promise<void> | undefined;

  constructor(
    {
      keys,
      queue,
      own,
      commands,
      reserve,
    }: { keys: Keys; queue: string; own: Redis; commands: Redis; reserve: Scripts["reserve"] },
    client: number,
  ) {
    this.#own = own;
    this.#commands = commands;
    this.#reserve = reserve;
    this.#tag = keys.tag(0);
    this.#wake = keys.start(this.#tag, "wake") + queue;
    this.#client = client;
    own.on("close", () => {
      this.#client = undefined;
    });
    own.on("ready", () => void this.#identify());
  }

  async #identify(): Promise<void> {
    this.#client = await this.#own.client("ID").catch(() => undefined);
  }

  /** Whether a request can wait now. */
  get usable(): boolean {
    return this.#client !== undefined && !this.#refused;
  }

  /** Whether one does. */
  get waiting(): boolean {
    return this.#waiting;
  }

  /**
   * Waits for work, at most for `waitMs`; then reserves whatever is there.
   * @throws PaihaoError store-unavailable
   */
  reserve(request: Reservation, waitMs: number): Promise<ReservedPart> {
    if (waitMs > 0) {
      this.#waiting = true;
      this.#own.bzpopmin(this.#wake, waitMs / 1000).then(
        () => this.#waited(),
        (error: unknown) => {
          this.#waited();
          this.#refused ||= /^(NOPERM|ERR|WRONGTYPE)/.test(messageOf(error));
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
      const cut = await this.#commands.client("UNBLOCK", this.#client).catch(() => 0);
      if (cut === 1) return;
      await delay(AGAIN_MS);
    }
  }

  /** More is there than was taken: another request that waits is given it. If this fails, a poll finds it. */
  passOn(): void {
    this.#commands.zadd(this.#wake, 0, "1").catch(() => undefined);
  }

  close(): void {
    this.#own.disconnect();
  }
}
