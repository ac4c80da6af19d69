import type { Redis } from "ioredis";
import type { Durability } from "../config.ts";
import { StartError } from "../errors.ts";
import { storeError } from "./script.ts";

/** How long Redis may take to reach the level before it is a shortfall, ms. Less than half of what a command may take. */
const WAIT_MS = 1000;
/** WAITAOF came with this version. */
const FSYNC_SINCE = [7, 2] as const;

/**
 * Confirms that what was written on a connection has reached the asked-for level. One confirmation covers all that was
 * written before it was sent: those that ask while one is under way share the next.
 */
export class Confirmation {
  readonly #redis: Redis;
  readonly #level: Durability;
  #underWay: Promise<boolean> | undefined;
  #next: Promise<boolean> | undefined;

  /** @param redis the very connection that the writes go through: Redis knows what to wait for by it */
  constructor(redis: Redis, level: Durability) {
    this.#redis = redis;
    this.#level = level;
  }

  /** Whether all that was written before is as durable as asked for. @throws PaihaoError store-unavailable */
  confirm(): Promise<boolean> {
    if (this.#level === "memory") return Promise.resolve(true);
    if (this.#underWay === undefined) return this.#send();
    const send = () => {
      this.#next = undefined;
      return this.#send();
    };
    this.#next ??= this.#underWay.then(send, send);
    return this.#next;
  }

  #send(): Promise<boolean> {
    const sent = this.#ask();
    this.#underWay = sent;
    const over = () => {
      if (this.#underWay === sent) this.#underWay = undefined;
    };
    sent.then(over, over);
    return sent;
  }

  async #ask(): Promise<boolean> {
    try {
      if (this.#level === "replica") return (await this.#redis.wait(1, WAIT_MS)) >= 1;
      const [local] = (await this.#redis.call("WAITAOF", 1, 0, WAIT_MS)) as [number, number];
      return local >= 1;
    } catch (error) {
      throw storeError(error);
    }
  }
}

/**
 * Holds the asked-for level against what the server can do.
 * @throws StartError when it cannot reach it ever; a replica that is only away now is told when a task is not durable
 */
export async function checkDurability(redis: Redis, level: Durability, version: string): Promise<void> {
  if (level !== "fsync") return;
  const [major = 0, minor = 0] = version.split(".").map(Number);
  if (major < FSYNC_SINCE[0] || (major === FSYNC_SINCE[0] && minor < FSYNC_SINCE[1])) {
    throw new StartError(
      `DURABILITY is fsync, but the store has version ${version}; expected ${FSYNC_SINCE.join(".")} or later, which can tell when a write is on disk`,
    );
  }
  if (!/^aof_enabled:1/m.test(await redis.info("persistence"))) {
    throw new StartError(
      "DURABILITY is fsync, but the store has no append-only file; expected a Redis with appendonly yes",
    );
  }
}
