import { StartError } from "../../errors.ts";
import type { Keys } from "../../store/keys.ts";
import type { Scripts } from "../../store/verbs/scripts.ts";

/**
 * Writes the number of partitions to the store at the first start, and checks it at every later start: with another number,
 * tasks would be looked for in the wrong places.
 * @throws StartError if the store was first used with another number
 */
export async function claimPartitions(scripts: Scripts, keys: Keys): Promise<void> {
  const stored = await scripts.claim(keys.tag(0), { partitions: keys.partitions });
  if (stored !== keys.partitions) {
    throw new StartError(
      `PARTITIONS is ${keys.partitions}, but the store with KEY_PREFIX ${keys.prefix} was first used with ${stored}; expected ${stored}`,
    );
  }
}
