import type { Redis } from "ioredis";
import type { Durability } from "../config/variables.ts";
import { ProblemError, StartError } from "../errors.ts";
import { type Connection, mastersOf } from "./connection.ts";
import { readInfo, replicasOf } from "./servers/check-server.ts";
import { storeError } from "./store-error.ts";

/** How long Redis may take to reach the level, ms. Less than the command timeout. */
const WAIT_MS = 1000;
/** The first version with WAITAOF. */
const FSYNC_SINCE = [7, 2] as const;

/** The confirmations of one connection. */
interface Group {
  /** How often the connection was lost: a reply after a loss does not confirm what was written before it. */
  losses: number;
  underWay: Promise<boolean> | undefined;
  next: Promise<boolean> | undefined;
}

/**
 * Confirms that writes have reached the configured level. A server confirms the writes of the connection that asks, so each
 * connection has its own confirmations. One confirmation covers everything written before it was sent; calls made while it is
 * in flight share the next.
 */
export class Confirmation {
  readonly #level: Durability;
  readonly #groups = new WeakMap<Redis, Group>();

  constructor(level: Durability) {
    this.#level = level;
  }

  /**
   * Whether everything written through a connection, and replied to, has reached the level.
   * @throws ProblemError store-unavailable, also if the connection was lost in between, since it may now lead to another server than the one
   * that was written to
   */
  async confirm(node: Redis): Promise<boolean> {
    if (this.#level === "memory") return true;
    const group = this.#groupOf(node);
    const { losses } = group;
    const reached = await this.#share(node, group);
    if (group.losses === losses) return reached;
    throw new ProblemError("store-unavailable", undefined, {
      cause: new Error("the connection was lost before the write was confirmed"),
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
      if (this.#level === "replicas") return await onAllReplicas(node);
      const [local] = (await node.call("WAITAOF", 1, 0, WAIT_MS)) as [number, number];
      return local >= 1;
    } catch (error) {
      throw storeError(error);
    }
  }
}

/** Whether every connected replica has it; a replica that joins later copies everything. */
async function onAllReplicas(node: Redis): Promise<boolean> {
  const [, , replicas] = (await node.role()) as [role: string, offset: number, replicas: readonly unknown[]];
  return replicas.length > 0 && (await node.wait(replicas.length, WAIT_MS)) >= replicas.length;
}

/**
 * Checks that the server can provide the configured level.
 * @throws StartError if it never can; a replica that is only unreachable now is reported when a submission is not durable
 */
export async function checkDurability(connection: Connection, level: Durability, version: string): Promise<void> {
  if (level !== "fsync") return;
  const [major = 0, minor = 0] = version.split(".").map(Number);
  if (major < FSYNC_SINCE[0] || (major === FSYNC_SINCE[0] && minor < FSYNC_SINCE[1])) {
    throw new StartError(
      `DURABILITY is fsync, but the store has version ${version}; expected ${FSYNC_SINCE.join(".")} or later, which can say when a write is on disk`,
    );
  }
  for (const node of mastersOf(connection)) {
    if (/^aof_enabled:1/m.test(await node.info("persistence"))) continue;
    throw new StartError(
      "DURABILITY is fsync, but the store has no append-only file; expected a Redis with appendonly yes",
    );
  }
}

/**
 * Why no submission can be confirmed at the configured level now, according to the servers; undefined if at least one master can.
 */
export async function durabilityProblem(connection: Connection, level: Durability): Promise<string | undefined> {
  if (level === "memory") return undefined;
  const infos = await Promise.all(mastersOf(connection).map((node) => readInfo(node).catch(() => undefined)));
  const problems = infos.flatMap((info) => (info === undefined ? [] : [missingFor(level, info)]));
  const [first] = problems;
  if (first === undefined || problems.includes(undefined)) return undefined;
  return `DURABILITY is ${level}, but ${first}: submissions are answered 503 not-durable`;
}

function missingFor(level: Durability, info: ReadonlyMap<string, string>): string | undefined {
  if (level !== "fsync") return replicasOf(info) > 0 ? undefined : "the store has no replica that keeps up";
  if (info.get("aof_enabled") !== "1") return "the store has no append-only file";
  return info.get("aof_last_write_status") === "err" ? "the store cannot write its append-only file" : undefined;
}
