import { type Connection, mastersOf } from "../../src/store/redis.ts";

/** The keys that a pattern matches, on every node. */
export async function keysLike(connection: Connection, match: string): Promise<string[]> {
  const found: string[] = [];
  for (const node of mastersOf(connection)) {
    for await (const some of node.scanStream({ match, count: 1000 })) found.push(...(some as string[]));
  }
  return found;
}

/** Removes them; one by one, since those of two partitions may lie in different slots. */
export async function removeKeysLike(connection: Connection, match: string): Promise<void> {
  for (const node of mastersOf(connection)) {
    for await (const some of node.scanStream({ match, count: 1000 })) {
      await Promise.all((some as string[]).map((key) => node.unlink(key)));
    }
  }
}
