import { StartError } from "../../errors.ts";
import type { Logger } from "../../log.ts";
import { type Connection, connect, mastersOf } from "../../store/connection.ts";
import { INDEXES, Keys } from "../../store/keys.ts";
import { type Scripts, scriptsOf, type UsedLibrary } from "../../store/library/scripts.ts";
import { BATCH_LIMIT } from "../../store/library/verb.ts";
import type { VerifyItems } from "../../store/ops/verify.ts";
import { checkServer } from "../../store/servers/check-server.ts";
import { Batch } from "../calls/batch.ts";
import { dataVersionProblem } from "./deployment.ts";

/** The result of a verification. */
export interface VerifyReport {
  /** Number of tasks checked. */
  readonly tasks: number;
  /** Number of index entries checked. */
  readonly entries: number;
  /** Ids of tasks and entries that were inconsistent; repaired if `heal` was set. */
  readonly disagreeing: readonly string[];
}

/** Options of a verification. */
export interface VerifyOptions {
  /** Repair inconsistencies; otherwise they are only reported. */
  readonly heal: boolean;
}

/**
 * Verifies a store over a connection of its own. The number of partitions is read from the store, so that only the prefix must be
 * given.
 * @throws StartError if the store is unsuitable, has data of a version that this release cannot work with, or nothing was ever stored
 *   under this prefix
 */
export async function verifyStore(
  url: string,
  prefix: string,
  { parts = [], ...options }: VerifyOptions & Pick<UsedLibrary, "parts">,
  log: Logger,
): Promise<VerifyReport> {
  const redis = await connect(url, "verify", log);
  try {
    await checkServer(redis);
    const partitions = await redis.get(new Keys(prefix, 1).claim);
    if (partitions === null) {
      throw new StartError(
        `the store holds nothing of a server with KEY_PREFIX ${prefix}; check KEY_PREFIX and REDIS_URL`,
      );
    }
    const problem = await dataVersionProblem(redis, new Keys(prefix, 1));
    if (problem !== undefined) throw new StartError(problem);
    return await verify(redis, scriptsOf(redis, { parts }), new Keys(prefix, Number(partitions)), options);
  } finally {
    redis.disconnect();
  }
}

/**
 * Checks every task against the indexes of its queue, and every index entry against its task. Safe while servers run; costs one
 * pass over the keys of the store.
 */
export async function verify(
  connection: Connection,
  scripts: Scripts,
  keys: Keys,
  { heal }: VerifyOptions,
): Promise<VerifyReport> {
  let tasks = 0;
  let entries = 0;
  const disagreeing = new Set<string>();
  const check = async (tag: string, index: VerifyItems["index"], ids: readonly string[]) => {
    for (let i = 0; i < ids.length; i += BATCH_LIMIT) {
      const some = ids.slice(i, i + BATCH_LIMIT);
      for (const id of await scripts.verify(tag, { index, ids: some, heal })) disagreeing.add(id);
    }
  };
  for (const [partition, tag] of keys.tags.entries()) {
    for await (const ids of namesOf(connection, keys.start(tag, "task"))) {
      tasks += ids.length - (await pointersAmong(connection, keys, tag, ids));
      await check(tag, undefined, ids);
      for (const id of await unpointed(scripts, keys, { partition, ids, heal })) disagreeing.add(id);
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
    for (const name of ["shares", "shareEnds", "startable", "keyLine", "memberStates"] as const) {
      const scan = name === "shares" ? "hscan" : "zscan";
      for await (const queues of namesOf(connection, keys.start(tag, name))) {
        for (const queue of queues) {
          for await (const members of entriesOf(connection, keys.start(tag, name) + queue, scan)) {
            await check(tag, { name, queue }, members);
          }
        }
      }
    }
    for await (const groups of namesOf(connection, keys.start(tag, "group"))) {
      await check(tag, { name: "group", queue: "" }, groups);
    }
  }
  return { tasks, entries, disagreeing: [...disagreeing] };
}

/** How many of these records only say that their task is in another partition. */
async function pointersAmong(connection: Connection, keys: Keys, tag: string, ids: readonly string[]): Promise<number> {
  if (keys.partitions === 1 || ids.length === 0) return 0;
  const scores = await connection.zmscore(keys.start(tag, "pointers"), ...ids);
  return scores.filter((score) => score !== null).length;
}

/** The tasks of a partition that cannot be found by their ids, which lead to another partition: see {@link Homes}. */
async function unpointed(
  scripts: Scripts,
  keys: Keys,
  { partition, ids, heal }: { readonly partition: number; readonly ids: readonly string[]; readonly heal: boolean },
): Promise<string[]> {
  const homes = new Batch({ send: (own: number, some: readonly string[]) => scripts.home(keys.tag(own), some) });
  const homeOf = (id: string) => homes.add(keys.partitionOf(id), id);
  const taskOf = async (id: string) =>
    (await scripts.inspect(keys.tag(partition), [{ id, result: false }])).tasks[0] ?? null;
  // Webhooks and undos are found with their task.
  const elsewhere = ids.filter((id) => !id.includes(":") && keys.partitionOf(id) !== partition);
  const found = await Promise.all(elsewhere.map(homeOf));
  const lost: string[] = [];
  for (const id of elsewhere.filter((_, n) => found[n] !== partition)) {
    // The task may have been deleted and submitted again: only a task that has existed all the time must have its pointer.
    const task = await taskOf(id);
    if (!task || (await homeOf(id)) === partition) continue;
    const { createdMs } = (await taskOf(id)) ?? {};
    if (createdMs !== task.createdMs) continue;
    lost.push(id);
    const pointer = { id, queue: task.queue, caller: task.caller ?? "", home: partition };
    if (heal) await scripts.point(keys.tag(keys.partitionOf(id)), [pointer], { checkMs: 0 });
  }
  return lost;
}

/** The names of the keys with a prefix, without that prefix. A tag contains no special characters of a pattern. */
async function* namesOf(connection: Connection, prefix: string): AsyncIterable<string[]> {
  for (const node of mastersOf(connection)) {
    let cursor = "0";
    do {
      const [next, found] = await node.scan(cursor, "MATCH", `${prefix}*`, "COUNT", 1000);
      cursor = next;
      yield found.map((key) => key.slice(prefix.length));
    } while (cursor !== "0");
  }
}

/** The members of a sorted set, or the fields of a hash, page by page. */
async function* entriesOf(
  connection: Connection,
  key: string,
  scan: "hscan" | "zscan" = "zscan",
): AsyncIterable<string[]> {
  let cursor = "0";
  do {
    const [next, found] = await connection[scan](key, cursor, "COUNT", 1000);
    cursor = next;
    yield found.filter((_, i) => i % 2 === 0);
  } while (cursor !== "0");
}
