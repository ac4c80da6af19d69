import type { Redis } from "ioredis";
import { messageOf, StartError } from "../../errors.ts";
import type { StoreNode } from "../../metrics/gauges.ts";
import { type Connection, isCluster, mastersOf } from "../connection.ts";

/** The oldest Redis with libraries of functions. Every Valkey has them. */
export const MINIMUM_REDIS = "7.0";

/** The result of checking a store. */
export interface ServerReport {
  /** Its own version: Valkey's for Valkey, not the Redis one that it claims to be compatible with. */
  readonly version: string;
  /** Problems that the operator should fix, as sentences that say how. */
  readonly warnings: string[];
  /** The eviction policy, or `unknown` if the server does not report it. */
  readonly policy: string;
}

/** Whether a version, e.g. `7.0.15`, is new enough. */
export function isSupportedVersion(version: string): boolean {
  return !isNewer(MINIMUM_REDIS, version);
}

/** A replica that has been silent for longer does not keep up, s; the default of Redis's min-replicas-max-lag. */
const MAX_LAG_S = 10;

/** Whether `a` has a later major or minor version than `b`. */
function isNewer(a: string, b: string): boolean {
  const [major = 0, minor = 0] = a.split(".").map(Number);
  const [otherMajor = 0, otherMinor = 0] = b.split(".").map(Number);
  return major > otherMajor || (major === otherMajor && minor > otherMinor);
}

/**
 * Checks that a store can be used, using only INFO, since hosted Redis often forbids CONFIG. In a cluster, every master is
 * checked.
 * @throws StartError if it is older than {@link MINIMUM_REDIS}, does not report its version, is a Sentinel, or is a cluster
 *   node whose URL is not that of a cluster
 */
export async function checkServer(connection: Connection): Promise<ServerReport> {
  const answers = await Promise.allSettled(mastersOf(connection).map((node) => checkNode(node, isCluster(connection))));
  const refused = answers.flatMap((answer) => (answer.status === "rejected" ? [answer.reason as unknown] : []));
  const all = answers.flatMap((answer) => (answer.status === "fulfilled" ? [answer.value] : []));
  // A cluster can serve even if a master is unreachable; but an unsuitable master is an error.
  for (const reason of refused) if (reason instanceof StartError || all.length === 0) throw reason;
  const [oldest] = [...all].sort((a, b) => (isNewer(a.version, b.version) ? 1 : -1));
  if (oldest === undefined) throw new Error("no master of the cluster is known");
  const policy = all.find((one) => one.policy !== "noeviction")?.policy ?? oldest.policy;
  return { version: oldest.version, policy, warnings: policyWarnings(policy) };
}

async function checkNode(redis: Redis, ofCluster: boolean): Promise<Omit<ServerReport, "warnings">> {
  const info = await readInfo(redis);
  const redisVersion = info.get("redis_version");
  if (redisVersion === undefined)
    throw new StartError("the store does not report its version: its INFO has no redis_version");
  if (info.get("redis_mode") === "sentinel" || info.get("server_mode") === "sentinel") {
    throw new StartError(
      "the store is a Redis Sentinel, which keeps no data; use redis+sentinel://host:port/master, or the address of the Redis itself",
    );
  }
  const valkeyVersion = info.get("valkey_version");
  if (!isSupportedVersion(redisVersion)) {
    throw new StartError(`the store is Redis ${redisVersion}, but ${MINIMUM_REDIS} or later is needed; upgrade it`);
  }
  if (!ofCluster && (info.get("cluster_enabled") === "1" || info.get("redis_mode") === "cluster")) {
    throw new StartError(
      "the store is a node of a Redis Cluster; use redis+cluster://host:port, with some of its nodes",
    );
  }
  return { version: valkeyVersion ?? redisVersion, policy: info.get("maxmemory_policy") ?? "unknown" };
}

function policyWarnings(policy: string): string[] {
  if (policy === "noeviction") return [];
  if (policy === "unknown") {
    return ["the store does not report its eviction policy; make sure that its maxmemory-policy is noeviction"];
  }
  return [
    `the store's maxmemory-policy is ${policy}: when its memory is full it will evict tasks; ` +
      "set it with CONFIG SET maxmemory-policy noeviction, in redis.conf, or in your provider's settings",
  ];
}

/** What the servers of a store report about themselves; only those that report their memory. */
export async function readNodes(connection: Connection): Promise<readonly StoreNode[]> {
  const answers = await Promise.allSettled(mastersOf(connection).map(readNode));
  return answers.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []));
}

async function readNode(redis: Redis): Promise<StoreNode[]> {
  const info = await readInfo(redis);
  const [used, max] = [info.get("used_memory"), Number(info.get("maxmemory") ?? 0)];
  if (used === undefined) return [];
  const { host, port, path } = redis.options;
  return [
    {
      node: path ?? `${host}:${port}`,
      usedBytes: Number(used),
      maxBytes: max > 0 ? max : null,
      persists: persistenceProblem(info) === undefined,
      replicas: replicasOf(info),
    },
  ];
}

/** What a server could not save, according to itself; undefined if nothing. */
export function persistenceProblem(info: ReadonlyMap<string, string>): string | undefined {
  const isAppending = info.get("aof_enabled") === "1";
  if (isAppending && info.get("aof_last_write_status") === "err") return "the append-only file cannot be written";
  // A server with an append-only file may still make snapshots, for its replicas; those do not count.
  if (info.get("rdb_last_bgsave_status") === "err") return "the last snapshot failed";
  return undefined;
}

/** How many connected replicas keep up: one that has not answered for longer confirms nothing. */
export function replicasOf(info: ReadonlyMap<string, string>): number {
  return [...info].filter(([name, facts]) => {
    const lagS = Number(/\blag=(-?\d+)/.exec(facts)?.[1] ?? 0);
    return /^slave\d+$/.test(name) && /\bstate=online\b/.test(facts) && lagS <= MAX_LAG_S;
  }).length;
}

/** Everything that a server reports about itself. @throws StartError if this user may not ask */
export async function readInfo(redis: Redis): Promise<Map<string, string>> {
  let text: string;
  try {
    // Without arguments, since several sections are only accepted since 7.0.
    text = await redis.info();
  } catch (error) {
    if (!messageOf(error).startsWith("NOPERM")) throw error;
    throw new StartError(
      "the store's user may not run INFO, which reports the version; allow it, e.g. ACL SETUSER … +info",
    );
  }
  return new Map(
    text.split(/\r?\n/).flatMap((line): [string, string][] => {
      const colon = line.indexOf(":");
      return colon > 0 ? [[line.slice(0, colon), line.slice(colon + 1)]] : [];
    }),
  );
}
