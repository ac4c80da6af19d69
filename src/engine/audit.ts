import { StartError } from "../errors.ts";
import type { Logger } from "../log.ts";
import { type Connection, connect, mastersOf } from "../store/connection.ts";
import { INDEXES, Keys } from "../store/keys.ts";
import { type AuditItems, BATCH_LIMIT, type Scripts, scriptsOf } from "../store/scripts/scripts.ts";
import { checkServer, SCRIPT_FLAGS_SINCE } from "../store/servers/check-server.ts";

/** What an audit found. */
export interface AuditReport {
  /** Tasks looked at. */
  readonly tasks: number;
  /** Entries of indexes looked at. */
  readonly entries: number;
  /** Ids of tasks and entries that disagreed with each other; they agree now where the audit was to heal. */
  readonly disagreeing: readonly string[];
}

/** How an audit goes. */
export interface AuditOptions {
  /** Make what disagrees agree; otherwise it is only reported. */
  readonly heal: boolean;
}

/**
 * Audits a store over a connection of its own. How many partitions it has is read there: nothing but the prefix need be known.
 * @throws StartError when it is no store that can be used, or nothing was ever stored under this prefix
 */
export async function auditStore(
  url: string,
  prefix: string,
  options: AuditOptions,
  log: Logger,
): Promise<AuditReport> {
  const redis = await connect(url, "audit", log);
  try {
    const { version } = await checkServer(redis);
    const partitions = await redis.get(new Keys(prefix, 1).claim);
    if (partitions === null) {
      throw new StartError(
        `the store holds nothing of a server with KEY_PREFIX ${prefix}; check KEY_PREFIX and REDIS_URL`,
      );
    }
    const scripts = scriptsOf(redis, { flags: Number.parseInt(version, 10) >= SCRIPT_FLAGS_SINCE });
    return await audit(redis, scripts, new Keys(prefix, Number(partitions)), options);
  } finally {
    redis.disconnect();
  }
}

/**
 * Walks over everything that is retained, and checks every task against the indexes of its queue and every entry against its
 * task. Safe while the server works; costs one pass over the keys of the store.
 */
export async function audit(
  connection: Connection,
  scripts: Scripts,
  keys: Keys,
  { heal }: AuditOptions,
): Promise<AuditReport> {
  let tasks = 0;
  let entries = 0;
  const disagreeing = new Set<string>();
  const check = async (tag: string, index: AuditItems["index"], ids: readonly string[]) => {
    for (let i = 0; i < ids.length; i += BATCH_LIMIT) {
      const some = ids.slice(i, i + BATCH_LIMIT);
      for (const id of await scripts.audit(tag, { index, ids: some, heal })) disagreeing.add(id);
    }
  };
  for (const tag of keys.tags) {
    for await (const ids of namesOf(connection, keys.start(tag, "task"))) {
      tasks += ids.length;
      await check(tag, undefined, ids);
    }
    for (const name of INDEXES) {
      for await (const queues of namesOf(connection, keys.start(tag, name))) {
        for (const queue of queues) {
          for await (const ids of entriesOf(connection, keys.index(tag, name, queue))) {
            entries += ids.length;
            await check(tag, { name, queue }, ids);
          }
        }
      }
    }
  }
  return { tasks, entries, disagreeing: [...disagreeing] };
}

/** What follows a prefix in the keys of the store. A tag has none of the characters that mean something in a pattern. */
async function* namesOf(connection: Connection, prefix: string): AsyncIterable<string[]> {
  for (const node of mastersOf(connection)) {
    for (let cursor = "0", first = true; first || cursor !== "0"; first = false) {
      const [next, found] = await node.scan(cursor, "MATCH", `${prefix}*`, "COUNT", 1000);
      cursor = next;
      yield found.map((key) => key.slice(prefix.length));
    }
  }
}

/** The members of a sorted set, in the pieces in which the store gives them. */
async function* entriesOf(connection: Connection, key: string): AsyncIterable<string[]> {
  for (let cursor = "0", first = true; first || cursor !== "0"; first = false) {
    const [next, found] = await connection.zscan(key, cursor, "COUNT", 1000);
    cursor = next;
    yield found.filter((_, i) => i % 2 === 0);
  }
}
