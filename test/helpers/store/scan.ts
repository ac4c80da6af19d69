import { type Connection, isCluster, mastersOf } from "../../../src/store/connection.ts";
import { connectOnce } from "../../../src/store/servers/connect-once.ts";

/** The keys that a pattern matches, on every node. */
export async function keysLike(connection: Connection, match: string): Promise<string[]> {
  const found: string[] = [];
  for (const node of mastersOf(connection)) {
    for await (const some of node.scanStream({ match, count: 1000 })) found.push(...(some as string[]));
  }
  return found;
}

/** Removes keys one by one, since those of two partitions may be in different slots. */
export async function removeKeysLike(connection: Connection, match: string): Promise<void> {
  for (const node of mastersOf(connection)) {
    for await (const some of node.scanStream({ match, count: 1000 })) {
      await Promise.all((some as string[]).map((key) => node.unlink(key)));
    }
  }
}

/** Removes the keys of a prefix, unless the store belonged to the test and is gone. */
export async function removeKeys(url: string, prefix: string): Promise<void> {
  const redis = await connectOnce(url).catch(() => undefined);
  if (redis) await removeKeysLike(redis, `{${prefix}:*`).finally(() => redis.disconnect());
}

/** The number of subscribers of a channel; in a cluster, at the shard that has it. */
export async function listenersOf(connection: Connection, channel: string): Promise<number> {
  const word = isCluster(connection) ? "SHARDNUMSUB" : "NUMSUB";
  const counts = await Promise.all(
    mastersOf(connection).map((node) => node.call("PUBSUB", word, channel) as Promise<[string, number]>),
  );
  return counts.reduce((sum, [, count]) => sum + Number(count), 0);
}
