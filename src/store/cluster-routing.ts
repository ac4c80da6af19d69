import { setTimeout as delay } from "node:timers/promises";
import { type Cluster, Command, type Redis } from "ioredis";
import { backoffMs } from "../backoff.ts";
import { messageOf } from "../errors.ts";
import { withTimeout } from "../net/deadline.ts";
import { CLUSTER_DEFAULTS, CONNECTION_DEFAULTS, type Connection, isCluster } from "./connection.ts";

/** Routes commands to the server of a partition. */
export interface Nodes {
  /**
   * Runs a command on the server that has the partition's keys. The command may run more than once, so it must be idempotent.
   * @param patienceMs how long to retry while a cluster is changing; a connection to one server has its own timeouts
   */
  run<T>(tag: string, command: (node: Redis) => Promise<T>, patienceMs?: number): Promise<T>;
}

/** Routing for a connection: to its one server, or to the nodes of its cluster. */
export function nodesOf(connection: Connection): Nodes {
  if (isCluster(connection)) return new ClusterNodes(connection);
  return { run: (_, command) => command(connection) };
}

/** Pauses between retries while a cluster is changing, ms. */
const PAUSE_MS = { baseMs: 25, maxMs: 250 } as const;

/** The error of a node that no longer has the slot. */
const MOVED = /^MOVED \d+ (\S*)$/;

/**
 * Errors of a cluster, and of ioredis, while the cluster changes: retried until the deadline. ASK is one of them on purpose: a script that
 * followed it would find only half of its partition on the new node (docs/adr/0002).
 */
const CHANGING =
  /^(MOVED|ASK|TRYAGAIN|CLUSTERDOWN|LOADING|MASTERDOWN|READONLY)|Connection is closed|Stream isn't writeable|timed out|Socket (timeout|closed)|^(connect|read|write) E|ECONN|EPIPE|ETIMEDOUT|no node has|non local key|cluster is down/i;

/** Finds the node of each partition, and finds it again when the cluster changes. */
class ClusterNodes implements Nodes {
  readonly #cluster: Cluster;
  /** By host and port, as in the slot table; some connections may have ended. */
  readonly #nodes = new Map<string, Redis>();
  readonly #slots = new Map<string, number>();

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
  }

  async run<T>(
    tag: string,
    command: (node: Redis) => Promise<T>,
    patienceMs: number = CONNECTION_DEFAULTS.commandMs,
  ): Promise<T> {
    const deadline = performance.now() + patienceMs;
    const first = this.#owner(tag);
    let failed: unknown = new Error("no node has the slot");
    if (first) {
      try {
        const work = command(first);
        // The connection has a command timeout of its own, so that a timer is needed only for a shorter one.
        return await (patienceMs < CLUSTER_DEFAULTS.commandMs ? withTimeout(patienceMs, work, timedOut) : work);
      } catch (error) {
        failed = error;
      }
    }
    return await this.#again(tag, command, failed, deadline);
  }

  /** Retries until the deadline (on the clock of `performance.now()`). */
  async #again<T>(tag: string, command: (node: Redis) => Promise<T>, first: unknown, deadline: number): Promise<T> {
    let attempt = 0;
    let followed = false;
    for (let failed = first; ; ) {
      if (!CHANGING.test(messageOf(failed))) throw failed;
      this.#cluster.refreshSlotsCache(() => undefined);
      const moved: string | undefined = MOVED.exec(messageOf(failed))?.[1];
      let node: Redis | undefined = moved === undefined || followed ? undefined : this.#named(moved);
      followed = node !== undefined;
      if (!node) {
        // Jitter, so that calls waiting for the same change do not all retry at the same moment.
        attempt += 1;
        await delay(backoffMs(PAUSE_MS, attempt, Math.random()));
        node = this.#owner(tag);
      }
      const leftMs = deadline - performance.now();
      if (leftMs <= 0) throw failed;
      if (!node) continue;
      try {
        return await withTimeout(leftMs, command(node), timedOut);
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

/** The same error as the command timeout of ioredis. */
const timedOut = () => new Error("Command timed out");

function keyOf(node: Redis): string {
  return `${node.options.host}:${node.options.port}`;
}
