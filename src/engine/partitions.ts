import { PaihaoError, StartError } from "../errors.ts";
import type { Keys } from "../store/keys.ts";
import type { Counted, Line, Scripts } from "../store/scripts/scripts.ts";

/**
 * Writes the number of partitions to the store at the first start, and holds every later start against it: with another
 * number tasks would be looked for where they are not.
 * @throws StartError when the store was first used with another number
 */
export async function claimPartitions(scripts: Scripts, keys: Keys): Promise<void> {
  const stored = await scripts.claim(keys.tag(0), keys.partitions);
  if (stored !== keys.partitions) {
    throw new StartError(
      `PARTITIONS is ${keys.partitions}, but the store with KEY_PREFIX ${keys.prefix} was first used with ${stored}; expected ${stored}`,
    );
  }
}

/** Where a task stands within its own partition. */
export interface LocalPlace {
  /** Null without a place in line. */
  readonly index: number | null;
  /** "" for one that is not in line: what stands in other partitions then says nothing of it. */
  readonly score: string;
  readonly line: Line;
}

/** Where a task stands, seen over all partitions. */
export interface GlobalPlace {
  /** Null also where a partition cannot be asked: a number that is not certain is not told. */
  readonly index: number | null;
  readonly line: Line;
}

/** Places of one queue. */
interface Group {
  readonly line: Line;
  readonly scores: string[];
}

/**
 * What the other partitions hold before and beside a task. The place over all partitions is the sum of those that stand
 * before its score in each; of two with the same score the one in the lower partition is first.
 */
export class OtherPartitions {
  readonly #scripts: Scripts;
  readonly #keys: Keys;

  constructor(scripts: Scripts, keys: Keys) {
    this.#scripts = scripts;
    this.#keys = keys;
  }

  /** Adds to places within one partition, of as many tasks as a script takes, what the others hold; in the same order. */
  async widen(home: number, places: readonly LocalPlace[]): Promise<readonly GlobalPlace[]> {
    if (this.#keys.partitions === 1) return places;
    const groups = new Map<string, Group>();
    for (const { line, score } of places) {
      let group = groups.get(line.queue);
      if (!group) {
        group = { line, scores: [] };
        groups.set(line.queue, group);
      }
      if (score !== "") group.scores.push(score);
    }
    let counted: ReadonlyMap<string, Counted>;
    try {
      counted = await this.#ask(home, groups);
    } catch (error) {
      // The tasks themselves have been seen or stored: that another partition is away, or fails, must not hide them.
      if (!(error instanceof PaihaoError)) throw error;
      // Who does not stand in line, as one that runs, is not counted anywhere else.
      return places.map(({ index, score, line }) => ({ index: score === "" ? index : null, line }));
    }
    const lines = new Map([...groups].map(([queue, { line }]) => [queue, addLine(line, counted.get(queue))]));
    const next = new Map<string, number>();
    return places.map(({ index, score, line: { queue }, line }) => {
      const wide = { line: lines.get(queue) ?? line };
      if (score === "") return { ...wide, index };
      const n = next.get(queue) ?? 0;
      next.set(queue, n + 1);
      return { ...wide, index: index === null ? null : index + (counted.get(queue)?.before[n] ?? 0) };
    });
  }

  /** How many stand before a score in the other partitions. @throws PaihaoError store-unavailable */
  async before(home: number, queue: string, score: string): Promise<number> {
    const counted = await this.#ask(home, new Map([[queue, { scores: [score] }]]));
    return counted.get(queue)?.before[0] ?? 0;
  }

  /** The sums over the other partitions, by queue. */
  async #ask(home: number, groups: ReadonlyMap<string, Pick<Group, "scores">>): Promise<ReadonlyMap<string, Counted>> {
    const queues = [...groups];
    const others = this.#keys.tags.flatMap((tag, partition) => (partition === home ? [] : [{ tag, partition }]));
    const answers = await Promise.all(
      others.map(({ tag, partition }) => {
        const equals = partition < home;
        const questions = queues.map(([queue, { scores }]) => ({ queue, scores, equals }));
        return this.#scripts.count(tag, questions);
      }),
    );
    return new Map(queues.map(([queue], n) => [queue, sumOf(answers.flatMap((answer) => answer[n] ?? []))]));
  }
}

function sumOf(all: readonly Counted[]): Counted {
  const sum = { waiting: 0, scheduled: 0, running: 0, before: [] as number[] };
  for (const { waiting, scheduled, running, before } of all) {
    sum.waiting += waiting;
    sum.scheduled += scheduled;
    sum.running += running;
    for (const [n, count] of before.entries()) sum.before[n] = (sum.before[n] ?? 0) + count;
  }
  return sum;
}

function addLine(line: Line, others: Counted | undefined): Line {
  if (!others) return line;
  return {
    ...line,
    waiting: line.waiting + others.waiting,
    scheduled: line.scheduled + others.scheduled,
    running: line.running + others.running,
  };
}
