import { ProblemError } from "../../errors.ts";
import type { Keys } from "../../store/keys.ts";
import {
  type CountAnswer,
  eitherStart,
  placesOf,
  type Question,
  type QueueSnapshot,
  type Scripts,
  type WorkerStart,
} from "../../store/verbs/scripts.ts";
import { Batch } from "../calls/batch.ts";

/** The place of a task within its own partition. */
export interface LocalPlace {
  /** Null without a place in line. */
  readonly index: number | null;
  /** "" if it is not in line, so that the other partitions do not matter. */
  readonly score: string;
  readonly snapshot: QueueSnapshot;
}

/** The place of a task over all partitions. */
export interface GlobalPlace {
  /** Also null if a partition is unavailable: an uncertain number is not reported. */
  readonly index: number | null;
  readonly snapshot: QueueSnapshot;
}

/** Places of one queue. */
interface Group {
  readonly snapshot: QueueSnapshot;
  readonly scores: string[];
}

/**
 * Counts the tasks of the other partitions. Requests of one turn of the event loop are sent together. The place over all partitions is the
 * sum of the tasks before its score in each; of two tasks with the same score, the one in the lower partition is first.
 */
export class OtherPartitions {
  readonly #keys: Keys;
  readonly #questions: Batch<Question, CountAnswer>;

  constructor(scripts: Scripts, keys: Keys) {
    this.#keys = keys;
    this.#questions = new Batch({
      workOf: ({ places }) => places.work,
      send: (partition, questions) => scripts.count(keys.tag(partition), questions),
    });
  }

  /** Converts places within one partition to places over all partitions, in the same order; for at most one batch of tasks. */
  async widen(home: number, places: readonly LocalPlace[]): Promise<readonly GlobalPlace[]> {
    if (this.#keys.partitions === 1) return places;
    const groups = new Map<string, Group>();
    for (const { snapshot, score } of places) {
      let group = groups.get(snapshot.queue);
      if (!group) {
        group = { snapshot, scores: [] };
        groups.set(snapshot.queue, group);
      }
      if (score !== "") group.scores.push(score);
    }
    let counted: ReadonlyMap<string, CountAnswer>;
    try {
      counted = await this.#ask(home, groups);
    } catch (error) {
      // The tasks themselves have been read or stored: they must be returned even if another partition is unavailable.
      if (!(error instanceof ProblemError)) throw error;
      // The index of a task outside the line, such as a running one, does not depend on other partitions.
      return places.map(({ index, score, snapshot }) => ({ index: score === "" ? index : null, snapshot }));
    }
    const snapshots = new Map(
      [...groups].map(([queue, { snapshot }]) => [queue, withCounts(snapshot, counted.get(queue))]),
    );
    const next = new Map<string, number>();
    return places.map(({ index, score, snapshot: narrow }) => {
      const { queue } = narrow;
      const snapshot = snapshots.get(queue) ?? narrow;
      if (score === "") return { index, snapshot };
      const n = next.get(queue) ?? 0;
      next.set(queue, n + 1);
      return { index: index === null ? null : index + (counted.get(queue)?.before[n] ?? 0), snapshot };
    });
  }

  /** How many tasks are before a score in the other partitions. @throws ProblemError store-unavailable */
  async before(home: number, queue: string, score: string): Promise<number> {
    const counted = await this.#ask(home, new Map([[queue, { scores: [score] }]]));
    return counted.get(queue)?.before[0] ?? 0;
  }

  /** The sums over the other partitions, by queue. */
  async #ask(
    home: number,
    groups: ReadonlyMap<string, Pick<Group, "scores">>,
  ): Promise<ReadonlyMap<string, CountAnswer>> {
    const queues = [...groups].map(([queue, { scores }]) => ({ queue, places: placesOf(scores) }));
    const others = this.#keys.tags.flatMap((_, partition) => (partition === home ? [] : [partition]));
    const answers = await Promise.all(
      others.map((partition) => {
        const equals = partition < home;
        return Promise.all(queues.map((question) => this.#questions.add(partition, { ...question, equals })));
      }),
    );
    return new Map(queues.map(({ queue }, n) => [queue, sumOf(answers.flatMap((answer) => answer[n] ?? []))]));
  }
}

function sumOf(all: readonly CountAnswer[]): CountAnswer {
  const sum = { waiting: 0, scheduled: 0, running: 0, breakerOpen: false, before: [] as number[] };
  let known: WorkerStart | null = null;
  for (const { waiting, scheduled, running, breakerOpen, starting, before } of all) {
    sum.waiting += waiting;
    sum.scheduled += scheduled;
    sum.running += running;
    sum.breakerOpen ||= breakerOpen;
    known = eitherStart(known, starting);
    for (const [n, count] of before.entries()) sum.before[n] = (sum.before[n] ?? 0) + count;
  }
  return { ...sum, starting: known };
}

function withCounts(snapshot: QueueSnapshot, others: CountAnswer | undefined): QueueSnapshot {
  if (!others) return snapshot;
  return {
    ...snapshot,
    waiting: snapshot.waiting + others.waiting,
    scheduled: snapshot.scheduled + others.scheduled,
    running: snapshot.running + others.running,
    breakerOpen: snapshot.breakerOpen || others.breakerOpen,
    starting: eitherStart(snapshot.starting, others.starting),
  };
}
