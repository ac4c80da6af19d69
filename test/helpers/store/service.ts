import type { Connection } from "../../../src/store/connection.ts";
import { QUEUE_FIELDS } from "../../../src/store/fields.ts";

/** How many service times a queue has had, as its hash has it, see lua/service.lua; null for none. */
export async function samplesIn(redis: Connection, key: string): Promise<number | null> {
  const words = await redis.hget(key, QUEUE_FIELDS.service[0]);
  return words === null ? null : Number.parseInt(words, 10);
}
