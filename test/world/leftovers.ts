import { verify } from "../../src/engine/upkeep/verify.ts";
import type { Connection } from "../../src/store/connection.ts";
import type { Keys } from "../../src/store/keys.ts";
import type { Scripts } from "../../src/store/library/scripts.ts";

/** A connection to the store without faults. */
export interface Observer {
  readonly redis: Connection;
  readonly scripts: Scripts;
  readonly keys: Keys;
}

/** What is left in the store although every task has ended, in sentences. */
export async function leftovers(observer: Observer, queues: readonly string[]): Promise<string[]> {
  const { redis, keys } = observer;
  const found: string[] = [];
  for (const queue of queues)
    for (const index of ["waiting", "scheduled", "leases"] as const)
      for (const tag of keys.tags) {
        const count = await redis.zcard(keys.index(tag, index, queue));
        if (count > 0) found.push(`${count} tasks in ${index} of ${queue}`);
      }
  return [...found, ...(await disagreeing(observer))];
}

/** The tasks that disagree with their index, in sentences. */
export async function disagreeing({ redis, scripts, keys }: Observer): Promise<string[]> {
  const report = await verify(redis, scripts, keys, { heal: false });
  return report.disagreeing.map((id) => `${id} disagrees with its index`);
}
