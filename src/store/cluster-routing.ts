import { setTimeout as delay } from "node:timers/promises";
import { type Cluster, Command, type Redis } from "ioredis";
import { messageOf } from "../errors.ts";
import { withTimeout } from "../net/with-timeout.ts";
import { CLUSTER_DEFAULTS, CONNECTION_DEFAULTS, type Connection, isCluster } from "./connection.ts";

/** What a command has answered, and the very connection that it went through. */
export interface Served<T> {
  readonly reply: T;
  readonly node: Redis;
}

/** Where the commands of a partition go. */
export interface Nodes {
  /**
   * Runs a command on the server that has the partition's keys; it may be run again, and must be made for that.
   * @param patienceMs how long to try while a cluster is changing; a connection to one server has patience of its own
   */
  run<T>(tag: string, command: (node: Redis) => Promise<T>, patienceMs?: number): Promise<Served<T>>;
}

/** The servers behind a connection. */
export function nodesOf(connection: Connection): Nodes {
  if (isCluster(connection)) return new ClusterNodes(connection);
  return { run: async (_, command) => ({ reply: await command(connection), node: connection }) };
}

/** Pauses between two tries while a cluster is changing, ms. */
const PAUSE_MS = { first: 20, most: 200 } as const;

/** A slot that is not where it was asked for. */
const MOVED = /^MOVED \d+ (\S*)$/;

/**
 * What a cluster says, and ioredis of it, while it changes: tried again until the deadline. ASK is among them on purpose.
 * It says that a slot is being moved key by key. A script that followed it would find one half of its partition there and
 * leave the other here; the partition pauses instead until all of it has moved, and nothing of it is lost.
 */
const CHANGING =
  /^(MOVED|ASK|TRYAGAIN|CLUSTERDOWN|LOADING|MASTERDOWN|READONLY)|Connection is closed|Stream isn't writeable|timed out|Socket (timeout|closed)|^(connect|read|write) E|ECONN|EPIPE|ETIMEDOUT|no node has|non local key|cluster is down/i;

/** Finds the node of each partition, and finds it again when that changes. */
class ClusterNodes implements Nodes {
  readonly #cluster: Cluster;
  /** By host and port, as the slot table names them; some may have ended. */
  readonly #nodes = new Map<string, Redis>();
  readonly #slots = new Map<string, number>();

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
  }

  async run<T>(
    tag: string,
    command: (node: Redis) => Promise<T>,
    patienceMs: number = CONNECTION_DEFAULTS.commandMs,
  ): Promise<Served<T>> {
    const deadline = performance.now() + patienceMs;
    const first = this.#owner(tag);
    let failed: unknown = new Error("no node has the slot");
    if (first) {
      try {
        const work = command(first);
        // The connection itself gives up after a while: only who has less patience pays for a timer.
        const reply = await (patienceMs < CLUSTER_DEFAULTS.commandMs ? withTimeout(patienceMs, work, timedOut) : work);
        return { reply, node: first };
      } catch (error) {
        failed = error;
      }
    }
    return await this.#again(tag, command, failed, deadline);
  }

  /** Tries until the deadline, as `performance.now()` tells it. */
  async #again<T>(
    tag: string,
    command: (node: Redis) => Promise<T>,
    first: unknown,
    deadline: number,
  ): Promise<Served<T>> {
    let pauseMs: number = PAUSE_MS.first;
    let followed = false;
    for (let failed = first; ; ) {
      if (!CHANGING.test(messageOf(failed))) throw failed;
      this.#cluster.refreshSlotsCache(() => undefined);
      const moved: string | undefined = MOVED.exec(messageOf(failed))?.[1];
      let node: Redis | undefined = moved === undefined || followed ? undefined : this.#named(moved);
      followed = node !== undefined;
      if (!node) {
        // So that those who wait for the same change do not all ask at the same moment.
        await delay(pauseMs * (0.5 + Math.random()));
        pauseMs = Math.min(pauseMs * 2, PAUSE_MS.most);
        node = this.#owner(tag);
      }
      const leftMs = deadline - performance.now();
      if (leftMs <= 0) throw failed;
      if (!node) continue;
      try {
        return { reply: await withTimeout(leftMs, command(node), timedOut), node };
      } catch (error) {
        failed = error;
      }
    }
  }

  #owner(tag: string): Redis | undefined {
    let slot = this.#slots.get(tag);
    if (slot === undefined) {
      slot = new Command("get", [tag]).getSlot();
      this.#slots.set(tag, slot);
    }
    const key = this.#cluster.slots[slot]?.[0];
    return key === undefined ? undefined : this.#named(key);
  }

  /** The node with a host and port, with a connection that has not ended. */
  #named(key: string): Redis | undefined {
    let node = this.#nodes.get(key);
    if (!node || node.status === "end") {
      node = this.#cluster.nodes().find((one) => keyOf(one) === key && one.status !== "end");
      if (node) this.#nodes.set(key, node);
    }
    return node;
  }
}

/** As ioredis says it of a command. */
const timedOut = () => new Error("Command timed out");

function keyOf(node: Redis): string {
  return `${node.options.host}:${node.options.port}`;
}
