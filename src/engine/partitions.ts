import { StartError } from "../errors.ts";
import type { Keys } from "../store/keys.ts";
import type { Connection } from "../store/redis.ts";
import type { Line, Scripts } from "../store/scripts.ts";

/**
 * Writes the number of partitions to the store at the first start, and holds every later start against it: with another
 * number tasks would be looked for where they are not.
 * @throws StartError when the store was first used with another number
 */
export async function claimPartitions(redis: Connection, keys: Keys): Promise<void> {
  let stored = await redis.get(keys.partitionsKey());
  if (stored === null) {
    // Only where there is none: at its memory limit Redis refuses every write, and workers must start then to drain it.
    await redis.setnx(keys.partitionsKey(), String(keys.partitions));
    stored = await redis.get(keys.partitionsKey());
  }
  if (stored !== String(keys.partitions)) {
    throw new StartError(
      `PARTITIONS is ${keys.partitions}, but the store with KEY_PREFIX ${keys.prefix} was first used with ${stored}; expected ${stored}`,
    );
  }
}

/** Where a task stands, seen over all partitions. */
export interface GlobalPlace {
  readonly index: number | null;
  readonly line: Line;
}

/**
 * Adds to a place within one partition what the others hold: the index over all is the sum of those that stand before the
 * task's score in each.
 */
export async function acrossPartitions(
  scripts: Scripts,
  keys: Keys,
  home: number,
  place: { index: number | null; score: string; line: Line },
): Promise<GlobalPlace> {
  if (keys.partitions === 1) return { index: place.index, line: place.line };
  const question = [{ queue: place.line.queue, score: place.score === "" ? "0" : place.score }];
  const others = keys.tags.filter((_, partition) => partition !== home);
  const answers = (await Promise.all(others.map((tag) => scripts.count(tag, question)))).flat();
  const sum = (pick: (a: (typeof answers)[number]) => number) => answers.reduce((total, a) => total + pick(a), 0);
  return {
    index: place.index === null || place.score === "" ? place.index : place.index + sum((a) => a.before),
    line: {
      ...place.line,
      waiting: place.line.waiting + sum((a) => a.waiting),
      scheduled: place.line.scheduled + sum((a) => a.scheduled),
      running: place.line.running + sum((a) => a.running),
    },
  };
}
