import { names, verb, written } from "./codec.ts";
import { list, text } from "./reply.ts";
import { type WorkerStart, workerStartOf } from "./snapshot.ts";

/** Places of tasks of other partitions. */
export interface Question {
  readonly queue: string;
  readonly places: Places;
  /** Whether tasks with the same score come before a place. */
  readonly equals: boolean;
}

/** Scores of tasks as count.lua takes them. */
export interface Places {
  readonly text: string;
  /** The work of counting what comes before them, as a multiple of that for one score. */
  readonly work: number;
}

/** The reply. */
export interface CountAnswer {
  /** How many tasks come before each place. */
  readonly before: readonly number[];
  readonly waiting: number;
  readonly scheduled: number;
  readonly running: number;
  readonly breakerOpen: boolean;
  /** See {@link QueueSnapshot.starting}. */
  readonly starting: WorkerStart | null;
}

/** Short, since the caller also has partitions that answer while a cluster is changing. */
const PATIENCE_MS = 300;

/** A question as it is sent. */
interface SentQuestion extends Omit<Question, "places"> {
  readonly places: string;
}
const QUESTION = names<SentQuestion>("queue", "equals", "places");

/** Counts the tasks of this partition that come before some places, and its lines. */
export const count = verb(
  { item: QUESTION },
  (script) =>
    async (tag: string, questions: readonly Question[]): Promise<CountAnswer[]> => {
      const args = questions.flatMap((q) => written(QUESTION, { ...q, places: q.places.text }));
      return list(await script.text(tag, [questions.length, ...args], PATIENCE_MS)).map((reply) => {
        const [counts = "", starting] = text(reply).split("\n");
        const [waiting, scheduled, running, breakerOpen, ...before] = counts.split(" ");
        return {
          waiting: Number(waiting),
          scheduled: Number(scheduled),
          running: Number(running),
          breakerOpen: breakerOpen === "1",
          starting: starting === undefined ? null : workerStartOf(starting),
          before: countsOf(before),
        };
      });
    },
);

/** An approximation: usually few tasks of other partitions are in between, and each search halves the run. */
const WORK_OF_CONSECUTIVE = 0.1;

/**
 * Writes scores; none if only the lengths of the lines are wanted. Tasks submitted together have consecutive scores, which are written as
 * one run: see count.lua.
 */
export function placesOf(scores: readonly string[]): Places {
  const runs: { readonly first: string; last: number; more: number }[] = [];
  for (const score of scores) {
    const run = runs.at(-1);
    if (run && Number(score) === run.last + 1 && !score.includes(".")) {
      run.last += 1;
      run.more += 1;
    } else {
      // Nothing follows a score with a fraction.
      runs.push({ first: score, last: score.includes(".") ? Number.NaN : Number(score), more: 0 });
    }
  }
  const text = runs.map(({ first, more }) => (more === 0 ? first : `${first}+${more}`)).join(" ");
  return { text, work: Math.max(1, runs.length) + (scores.length - runs.length) * WORK_OF_CONSECUTIVE };
}

/** Reads counts: "count*n" is the same for n tasks, "count+n" one more for each of n tasks. Loops, since there are many. */
function countsOf(words: readonly string[]): number[] {
  const counts: number[] = [];
  for (const word of words) {
    const [first = 0, tasks = 1] = word.split(/[*+]/).map(Number);
    const step = word.includes("+") ? 1 : 0;
    for (let n = 0; n < tasks; n += 1) counts.push(first + n * step);
  }
  return counts;
}
