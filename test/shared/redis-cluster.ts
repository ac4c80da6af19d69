import { Command, Redis } from "ioredis";
import { eventually } from "./eventually.ts";
import { reservePort } from "./ports.ts";
import { type PrivateRedis, startRedis } from "./redis-server.ts";

/** One node of a test's cluster. */
export interface ClusterNode {
  readonly server: PrivateRedis;
  /** A connection for commands to this node; for keys use the cluster's. */
  readonly admin: Redis;
  readonly id: string;
}

/** A Redis Cluster for one test, on loopback. */
export interface TestCluster {
  /** For REDIS_URL. */
  readonly url: string;
  readonly nodes: readonly ClusterNode[];
  /** The master that has the slot of a key now, according to the first running node. */
  ownerOf(key: string, among?: readonly ClusterNode[]): Promise<ClusterNode>;
  /** The present masters. */
  masters(): Promise<ClusterNode[]>;
  stop(): Promise<void>;
}

const SLOTS = 16_384;

/** The slot of a key, by its hash tag where it has one. */
export function slotOf(key: string): number {
  return new Command("get", [key]).getSlot();
}

/**
 * Starts masters and as many replicas for each, and waits until all agree that the cluster is in order.
 * @param nodeTimeoutMs how long a node may be silent until it is given up
 */
export async function startCluster({ masters = 3, replicas = 1, nodeTimeoutMs = 5000 } = {}): Promise<TestCluster> {
  const started: PrivateRedis[] = [];
  const admins: Redis[] = [];
  const stop = async () => {
    for (const admin of admins.splice(0)) admin.disconnect();
    await Promise.all(started.splice(0).map((server) => server.stop("SIGKILL")));
  };
  try {
    const buses: number[] = [];
    for (let n = 0; n < masters * (1 + replicas); n += 1) {
      const bus = await reservePort();
      started.push(await startRedis({ args: nodeArgs(bus, nodeTimeoutMs) }));
      buses.push(bus);
    }
    for (const { port } of started) admins.push(adminOf(port));
    const ids = await Promise.all(admins.map((admin) => admin.call("CLUSTER", "MYID") as Promise<string>));
    const nodes = started.map((server, n) => ({ server, admin: at(admins, n), id: at(ids, n) }));
    await form(nodes, buses, masters);
    return cluster(nodes, stop);
  } catch (error) {
    await stop();
    throw error;
  }
}

function nodeArgs(bus: number, nodeTimeoutMs: number): string[] {
  return [
    ...["--cluster-enabled", "yes", "--cluster-port", String(bus), "--cluster-node-timeout", String(nodeTimeoutMs)],
    // Nothing on disk; and replication begins at once instead of waiting five seconds for further replicas.
    ...["--appendonly", "no", "--repl-diskless-sync-delay", "0", "--repl-diskless-load", "swapdb"],
    // The replica may take over however long it had no master, since there is no other.
    ...["--cluster-replica-validity-factor", "0"],
  ];
}

/** A node that may be killed: after a failure, the next command connects again. */
function adminOf(port: number): Redis {
  const admin = new Redis(port, "127.0.0.1", { maxRetriesPerRequest: 1, retryStrategy: () => 100 });
  admin.on("error", () => undefined);
  return admin;
}

async function form(nodes: readonly ClusterNode[], buses: readonly number[], masters: number): Promise<void> {
  const first = at(nodes, 0);
  await Promise.all(
    nodes.map(async ({ admin }, n) => {
      await admin.call("CLUSTER", "SET-CONFIG-EPOCH", n + 1);
      if (n >= masters) return;
      const from = Math.floor((n * SLOTS) / masters);
      await admin.call("CLUSTER", "ADDSLOTSRANGE", from, Math.floor(((n + 1) * SLOTS) / masters) - 1);
    }),
  );
  for (const [n, { server }] of nodes.entries()) {
    if (n > 0) await first.admin.call("CLUSTER", "MEET", "127.0.0.1", server.port, at(buses, n));
  }
  for (const [n, { admin }] of nodes.entries()) {
    if (n < masters) continue;
    await eventually(() => admin.call("CLUSTER", "REPLICATE", at(nodes, n % masters).id));
  }
  for (const { admin, id } of nodes) {
    await eventually(async () => {
      const table = await tableOf(admin);
      const whole = table.length === nodes.length && table.every(({ flags }) => !/fail|handshake|noaddr/.test(flags));
      const followers = table.filter(({ flags }) => flags.includes("slave")).length;
      const inOrder = /cluster_state:ok/.test((await admin.call("CLUSTER", "INFO")) as string);
      const linked = !(await admin.info("replication")).includes("master_link_status:down");
      return whole && inOrder && linked && followers === nodes.length - masters && table.some((row) => row.id === id);
    });
  }
}

function cluster(nodes: readonly ClusterNode[], stop: () => Promise<void>): TestCluster {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  /** The slot table of the first running node. */
  const masters = async (among = nodes): Promise<{ node: ClusterNode; ranges: readonly string[] }[]> => {
    for (const { admin, server } of among) {
      if (!server.running) continue;
      const table = await tableOf(admin);
      return table
        .filter(({ flags }) => flags.includes("master") && !/fail$|fail,/.test(flags))
        .flatMap(({ id, ranges }) => {
          const node = byId.get(id);
          return node ? [{ node, ranges }] : [];
        });
    }
    throw new Error("no node is left");
  };
  return {
    url: `redis+cluster://${nodes.map(({ server }) => `127.0.0.1:${server.port}`).join(",")}`,
    nodes,
    stop,
    masters: async () => (await masters()).map(({ node }) => node),
    async ownerOf(key, among) {
      const slot = slotOf(key);
      const owner = (await masters(among)).find(({ ranges }) =>
        ranges.some((range) => {
          const [from, to = from] = range.split("-").map(Number);
          return from !== undefined && to !== undefined && slot >= from && slot <= to;
        }),
      );
      if (!owner) throw new Error(`nobody has slot ${slot}`);
      return owner.node;
    },
  };
}

/** Moves a slot with all its keys to another master, as `redis-cli --cluster reshard` does; `between` runs half-way. */
export async function moveSlot(
  nodes: readonly ClusterNode[],
  slot: number,
  from: ClusterNode,
  to: ClusterNode,
  between: () => Promise<unknown> = async () => undefined,
): Promise<void> {
  await to.admin.call("CLUSTER", "SETSLOT", slot, "IMPORTING", from.id);
  await from.admin.call("CLUSTER", "SETSLOT", slot, "MIGRATING", to.id);
  const moveSome = async (max: number): Promise<number> => {
    const keys = (await from.admin.call("CLUSTER", "GETKEYSINSLOT", slot, max)) as string[];
    if (keys.length > 0) await from.admin.call("MIGRATE", "127.0.0.1", to.server.port, "", 0, 5000, "KEYS", ...keys);
    return keys.length;
  };
  await moveSome(Math.ceil(Number(await from.admin.call("CLUSTER", "COUNTKEYSINSLOT", slot)) / 2));
  await between();
  while ((await moveSome(100)) > 0);
  await to.admin.call("CLUSTER", "SETSLOT", slot, "NODE", to.id);
  await from.admin.call("CLUSTER", "SETSLOT", slot, "NODE", to.id);
  for (const { admin } of nodes) {
    // Replicas learn it from their masters.
    await admin.call("CLUSTER", "SETSLOT", slot, "NODE", to.id).catch(() => undefined);
  }
}

interface Row {
  readonly id: string;
  readonly flags: string;
  readonly ranges: readonly string[];
}

async function tableOf(admin: Redis): Promise<Row[]> {
  const text = (await admin.call("CLUSTER", "NODES")) as string;
  return text
    .trim()
    .split("\n")
    .map((line) => {
      const [id = "", , flags = "", , , , , , ...ranges] = line.split(" ");
      return { id, flags, ranges: ranges.filter((range) => !range.startsWith("[")) };
    });
}

function at<T>(list: readonly T[], n: number): T {
  const item = list[n];
  if (item === undefined) throw new RangeError(`no ${n} in a list of ${list.length}`);
  return item;
}
