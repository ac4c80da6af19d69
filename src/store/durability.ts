import type { Redis } from "ioredis";
import type { Durability } from "../config/config.ts";
import { PaihaoError, StartError } from "../errors.ts";
import { type Connection, mastersOf } from "./connection.ts";
import { storeError } from "./scripts/script.ts";

/** How long Redis may take to reach the level before it is a shortfall, ms. Less than what a command may take. */
const WAIT_MS = 1000;
/** WAITAOF came with this version. */
const FSYNC_SINCE = [7, 2] as const;

/** The confirmations of one connection. */
interface Group {
  /** How often it has been lost: what was written before a loss is not confirmed by an answer after it. */
  losses: number;
  underWay: Promise<boolean> | undefined;
  next: Promise<boolean> | undefined;
}

/**
 * Confirms that what was written has reached the asked-for level. A server knows what to wait for by the connection that
 * the writes went through, so each has its own confirmations; one covers all that was written before it was sent: those
 * that ask while one is under way share the next.
 */
export class Confirmation {
  readonly #level: Durability;
  readonly #groups = new WeakMap<Redis, Group>();

  constructor(level: Durability) {
    this.#level = level;
  }

  /**
   * Whether all that was written through a connection, and answered, is as durable as asked for.
   * @throws PaihaoError store-unavailable, also when the connection was lost meanwhile: the server that it leads to now
   *   need not be the one that was written to
   */
  async confirm(node: Redis): Promise<boolean> {
    if (this.#level === "memory") return true;
    const group = this.#groupOf(node);
    const { losses } = group;
    const reached = await this.#share(node, group);
    if (group.losses === losses) return reached;
    throw new PaihaoError("store-unavailable", undefined, {
      cause: new Error("the connection was lost before the wait"),
    });
  }

  #groupOf(node: Redis): Group {
    const known = this.#groups.get(node);
    if (known) return known;
    const group: Group = { losses: 0, underWay: undefined, next: undefined };
    this.#groups.set(node, group);
    node.on("close", () => {
      group.losses += 1;
    });
    return group;
  }

  #share(node: Redis, group: Group): Promise<boolean> {
    if (group.underWay === undefined) return this.#send(node, group);
    const send = () => {
      group.next = undefined;
      return this.#send(node, group);
    };
    group.next ??= group.underWay.then(send, send);
    return group.next;
  }

  #send(node: Redis, group: Group): Promise<boolean> {
    const sent = this.#ask(node);
    group.underWay = sent;
    const over = () => {
      if (group.underWay === sent) group.underWay = undefined;
    };
    sent.then(over, over);
    return sent;
  }

  async #ask(node: Redis): Promise<boolean> {
    try {
      if (this.#level === "replica") return (await node.wait(1, WAIT_MS)) >= 1;
      const [local] = (await node.call("WAITAOF", 1, 0, WAIT_MS)) as [number, number];
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
export async function checkDurability(connection: Connection, level: Durability, version: string): Promise<void> {
  if (level !== "fsync") return;
  const [major = 0, minor = 0] = version.split(".").map(Number);
  if (major < FSYNC_SINCE[0] || (major === FSYNC_SINCE[0] && minor < FSYNC_SINCE[1])) {
    throw new StartError(
      `DURABILITY is fsync, but the store has version ${version}; expected ${FSYNC_SINCE.join(".")} or later, which can tell when a write is on disk`,
    );
  }
  for (const node of mastersOf(connection)) {
    if (/^aof_enabled:1/m.test(await node.info("persistence"))) continue;
    throw new StartError(
      "DURABILITY is fsync, but the store has no append-only file; expected a Redis with appendonly yes",
    );
  }
}
