import type { Keys } from "../store/keys.ts";
import { type Connection, mastersOf } from "../store/redis.ts";
import { BATCH_LIMIT, INDEX_KINDS, type Scripts } from "../store/scripts.ts";

/** What an audit found. */
export interface AuditReport {
  /** Tasks looked at. */
  readonly tasks: number;
  /** Entries of indexes looked at. */
  readonly entries: number;
  /** Ids whose task and index disagreed, and now agree. */
  readonly healed: readonly string[];
}

/**
 * Walks over everything that is retained, holds every task against the indexes of its queue and every entry against its
 * task, and heals what disagrees. Safe beside all other work; costs one pass over the keys of the store.
 */
export async function audit(
  connection: Connection,
  scripts: Scripts,
  keys: Keys,
  queues: readonly string[],
): Promise<AuditReport> {
  let tasks = 0;
  let entries = 0;
  const healed: string[] = [];
  for (const tag of keys.tags) {
    const prefix = `${tag}t:`;
    // The tag's braces mean nothing in a pattern; its prefix has none of a pattern's own characters.
    for (const node of mastersOf(connection)) {
      for (let cursor = "0", first = true; first || cursor !== "0"; first = false) {
        const [next, found] = await node.scan(cursor, "MATCH", `${prefix}*`, "COUNT", 1000);
        cursor = next;
        for (const ids of chunks(found.map((key) => key.slice(prefix.length)))) {
          tasks += ids.length;
          healed.push(...(await scripts.audit(tag, "t", "", ids)));
        }
      }
    }
    for (const queue of queues) {
      for (const kind of INDEX_KINDS) {
        for (let cursor = "0", first = true; first || cursor !== "0"; first = false) {
          const [next, found] = await connection.zscan(keys.index(tag, kind, queue), cursor, "COUNT", 1000);
          cursor = next;
          for (const ids of chunks(found.filter((_, i) => i % 2 === 0))) {
            entries += ids.length;
            healed.push(...(await scripts.audit(tag, kind, queue, ids)));
          }
        }
      }
    }
  }
  return { tasks, entries, healed: [...new Set(healed)] };
}

function* chunks(ids: readonly string[]): Iterable<readonly string[]> {
  for (let i = 0; i < ids.length; i += BATCH_LIMIT) yield ids.slice(i, i + BATCH_LIMIT);
}
