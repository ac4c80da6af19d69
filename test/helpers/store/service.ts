import type { Connection } from "../../../src/store/connection.ts";
import { QUEUE_FIELDS } from "../../../src/store/fields.ts";

/** The statistics of service times as a queue's hash has them, see SHARED.serviceFormat; null if there are none. */
export async function serviceIn(redis: Connection, key: string) {
  const packed = await redis.hgetBuffer(key, QUEUE_FIELDS.service[0]);
  if (packed === null) return null;
  const [mean = 0, variance = 0, samples = 0, total = 0] = [0, 8, 16, 24].map((at) => packed.readDoubleLE(at));
  return { mean, variance, samples, total };
}
