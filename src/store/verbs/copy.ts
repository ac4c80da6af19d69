import { named, verb } from "./codec.ts";
import { list, number, text } from "./reply.ts";
import { BATCH_LIMIT, type BytesReply } from "./script.ts";

/** A key as a backup has it. */
export interface CopiedKey {
  /** Without the partition's tag. */
  readonly key: string;
  readonly type: "string" | "hash" | "list" | "zset";
  /** 0: never. */
  readonly expiresMs: number;
  /** Names and values of a hash, or members and scores, alternating; one item for a string. */
  readonly items: readonly Buffer[];
}

/** Approximate maximum that one call returns; a task that begins below it is returned whole. */
const COPY_BYTES = 1024 ** 2;

const COPIED = ["key", "type", "expiresMs", "items"] as const satisfies (keyof CopiedKey)[];

/**
 * Copies tasks with everything that belongs to each, as of one instant. Returns as many of the first as fit into one answer, at least one;
 * for each its Redis keys, the record first, and none if it is unknown.
 */
export const copy = verb(
  { args: ["bytes"], item: ["id"], copied: COPIED },
  (script) =>
    async (tag: string, ids: readonly string[]): Promise<CopiedKey[][]> => {
      const some = ids.slice(0, BATCH_LIMIT);
      const reply = await script.bytes(tag, [COPY_BYTES, some.length, ...some]);
      return list(reply).map((parts) => list(parts).map(copiedKey));
    },
);

function copiedKey(reply: BytesReply): CopiedKey {
  const { key, type, expiresMs, items: content } = named(COPIED, reply);
  const items = Buffer.isBuffer(content) ? [content] : list(content).filter((item) => Buffer.isBuffer(item));
  return { key: text(key), type: text(type) as CopiedKey["type"], expiresMs: number(expiresMs), items };
}
