import type { Redis } from "ioredis";
import { type Connection, mastersOf } from "../../../store/connection.ts";
import { INDEXES, KEYS, type Keys, START } from "../../../store/keys.ts";
import { BATCH_LIMIT, type CopiedKey, type Scripts } from "../../../store/verbs/scripts.ts";
import type { BackupPart } from "./backup-file.ts";

/** Longer values are divided. */
const PART_BYTES = 1024 ** 2;
const PAGE = 1000;
/** Copied at the same instant as their task, see copy.lua. */
const OF_TASKS = [
  "task",
  "input",
  "result",
  "steps",
  "output",
  ...INDEXES,
  "deadlines",
  "startable",
  "keyLine",
] as const;
/** Keys of processes that no longer exist when the backup is restored. */
const OF_PROCESSES = ["workers", "slots", "about", "wake", "probe", "sender"] as const;
/** The version is in the header of a backup. */
const LEFT_OUT: ReadonlySet<string> = new Set([...OF_TASKS, ...OF_PROCESSES, "version"]);

/**
 * Everything of a deployment. Each task is of one instant, with its input, result and places; the store as a whole is not:
 *
 * - Webhooks and undos come after all tasks, each with its task again: otherwise those of a task that ends meanwhile would be missing.
 * - Queues come after their tasks, so that no task has a later place or fence than its queue knows of.
 */
export async function* copyStore(connection: Connection, scripts: Scripts, keys: Keys): AsyncIterable<BackupPart> {
  for await (const { partition, names } of pagesOf(connection, keys, START.task)) {
    yield* tasksOf(
      scripts,
      keys,
      partition,
      idsOf(names).filter((id) => !id.includes(":")),
    );
  }
  for await (const { partition, names } of pagesOf(connection, keys, START.task)) {
    const followers = idsOf(names).filter((id) => id.includes(":"));
    const withTasks = followers.flatMap((id) => [id.slice(0, id.indexOf(":")), id]);
    yield* tasksOf(scripts, keys, partition, withTasks);
  }
  for await (const { partition, names, node } of pagesOf(connection, keys, "")) {
    const others = names.filter((name) => !LEFT_OUT.has(kindOf(name)));
    for (const name of others) yield* partsOfKey(node, keys.tag(partition), partition, name);
  }
}

const idsOf = (names: readonly string[]): string[] => names.map((name) => name.slice(START.task.length));

const KINDS = Object.keys(KEYS) as (keyof typeof KEYS)[];

/** The kind of a Redis key; empty if this release does not know it. */
function kindOf(name: string): string {
  const isOf = (kind: keyof typeof KEYS) =>
    START[kind].endsWith(":") ? name.startsWith(START[kind]) : name === START[kind];
  return KINDS.find(isOf) ?? "";
}

/** The names of keys with this start, without the tags of their partitions. */
async function* pagesOf(
  connection: Connection,
  keys: Keys,
  start: string,
): AsyncIterable<{ partition: number; names: string[]; node: Redis }> {
  for (const node of mastersOf(connection)) {
    for (let cursor = "0", first = true; first || cursor !== "0"; first = false) {
      const [next, found] = await node.scan(cursor, "MATCH", `{${keys.prefix}:*}${start}*`, "COUNT", PAGE);
      cursor = next;
      const pages = new Map<number, string[]>();
      for (const key of found) {
        const end = key.indexOf("}") + 1;
        const partition = keys.tags.indexOf(key.slice(0, end));
        if (partition < 0) continue;
        const page = pages.get(partition);
        if (page) page.push(key.slice(end));
        else pages.set(partition, [key.slice(end)]);
      }
      for (const [partition, names] of pages) yield { partition, names, node };
    }
  }
}

async function* tasksOf(
  scripts: Scripts,
  keys: Keys,
  partition: number,
  ids: readonly string[],
): AsyncIterable<BackupPart> {
  for (let at = 0; at < ids.length; ) {
    const copies = await scripts.copy(keys.tag(partition), ids.slice(at, at + BATCH_LIMIT));
    at += copies.length;
    for (const parts of copies) {
      for (const part of parts) yield* divided(partition, part, part.type === "zset" ? 1 : 0);
    }
  }
}

/** A Redis key that belongs to no task, read page by page: concurrent changes may be in it or not. */
async function* partsOfKey(node: Redis, tag: string, partition: number, name: string): AsyncIterable<BackupPart> {
  const key = tag + name;
  const [type, left, [seconds = 0, micros = 0]] = await Promise.all([node.type(key), node.pttl(key), node.time()]);
  const nowMs = Number(seconds) * 1000 + Math.floor(Number(micros) / 1000);
  const facts = { key: name, expiresMs: left < 0 ? 0 : nowMs + left };
  if (type === "string") {
    const value = await node.getBuffer(key);
    if (value !== null) yield* divided(partition, { ...facts, type, items: [value] }, 0);
  } else if (type === "list") {
    for (let from = 0; ; from += PAGE) {
      const items = await node.lrangeBuffer(key, from, from + PAGE - 1);
      if (items.length > 0) yield* divided(partition, { ...facts, type, items }, from);
      if (items.length < PAGE) break;
    }
  } else if (type === "hash" || type === "zset") {
    let from = 0;
    for (let cursor = "0", first = true; first || cursor !== "0"; first = false) {
      const page =
        type === "hash" ? node.hscanBuffer(key, cursor, "COUNT", PAGE) : node.zscanBuffer(key, cursor, "COUNT", PAGE);
      const [next, items] = await page;
      cursor = next.toString();
      if (items.length > 0) yield* divided(partition, { ...facts, type, items }, from);
      from += items.length;
    }
  }
}

/** Splits into parts of a bounded length, except lists, which are short or come page by page, and single values of a hash. */
function* divided(partition: number, part: CopiedKey, from: number): Iterable<BackupPart> {
  if (part.type === "list") return yield { ...part, partition, from };
  if (part.type === "string") {
    const value = part.items[0] ?? Buffer.alloc(0);
    for (let at = 0; at === 0 || at < value.length; at += PART_BYTES) {
      yield { ...part, partition, from: at, items: [value.subarray(at, at + PART_BYTES)] };
    }
    return;
  }
  for (let at = 0; at < part.items.length; ) {
    let end = at;
    for (let bytes = 0; end < part.items.length && bytes < PART_BYTES; end += 2) {
      bytes += (part.items[end]?.length ?? 0) + (part.items[end + 1]?.length ?? 0);
    }
    yield { ...part, partition, from: from + at, items: part.items.slice(at, end) };
    at = end;
  }
}
