import { Keys } from "../../../src/store/keys.ts";
import { connectOnce } from "../../../src/store/servers/connect-once.ts";
import { eventually } from "../../shared/eventually.ts";
import { storeUrl } from "./run-store.ts";
import { storedKey } from "./stored.ts";

/** Lets so many leases of a queue, of a server with one partition, pass: as if their workers had not been heard of for long. */
export async function endLeases(prefix: string, queue: string, count = 1): Promise<void> {
  const redis = await connectOnce(storeUrl());
  const key = storedKey(new Keys(prefix, 1).tag(0), "leases", queue);
  try {
    await eventually(async () => (await redis.zcard(key)) >= count);
    for (const id of await redis.zrange(key, "0", "-1")) await redis.zadd(key, "XX", "1", id);
  } finally {
    redis.disconnect();
  }
}
