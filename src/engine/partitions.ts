import { PaihaoError, StartError } from "../errors.ts";
import type { Keys } from "../store/keys.ts";
import type { Connection } from "../store/redis.ts";
import type { Counted, Line, Question, Scripts } from "../store/scripts.ts";
import { Batch } from "./batch.ts";

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
  /** Null also where a partition cannot be asked: a number that is not certain is not told. */
  readonly index: number | null;
  readonly line: Line;
}

/**
 * What the other partitions hold before and beside a task. The place over all partitions is the sum of those that stand
 * before its score in each; of two with the same score the one in the lower partition is first. Questions of one turn of
 * the event loop travel together.
 */
export class OtherPartitions {
  readonly #keys: Keys;
  readonly #questions: Batch<Question, Counted>;

  constructor(scripts: Scripts, keys: Keys) {
    this.#keys = keys;
    this.#questions = new Batch({ send: (partition, questions) => scripts.count(keys.tag(partition), questions) });
  }

  /** Adds to a place within its own partition what the others hold. @param place `score` is "" where it has none */
  async widen(home: number, place: { index: number | null; score: string; line: Line }): Promise<GlobalPlace> {
    if (this.#keys.partitions === 1) return { index: place.index, line: place.line };
    let answers: readonly Counted[];
    try {
      answers = await this.#ask(home, place.line.queue, place.score || "0");
    } catch (error) {
      // The task itself has been seen or stored: that another partition is away must not hide it.
      if (!(error instanceof PaihaoError && error.code === "store-unavailable")) throw error;
      return { index: null, line: place.line };
    }
    const sum = (pick: (a: Counted) => number) => answers.reduce((total, a) => total + pick(a), 0);
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

  /** How many stand before a score in the other partitions. @throws PaihaoError store-unavailable */
  async before(home: number, queue: string, score: string): Promise<number> {
    const answers = await this.#ask(home, queue, score);
    return answers.reduce((total, { before }) => total + before, 0);
  }

  #ask(home: number, queue: string, score: string): Promise<Counted[]> {
    const others = this.#keys.tags.flatMap((_, partition) => (partition === home ? [] : [partition]));
    return Promise.all(
      others.map((partition) => {
        const bound = partition < home ? score : `(${score}`;
        return this.#questions.add(partition, { queue, bound });
      }),
    );
  }
}
