import { list, text } from "./reply.ts";
import type { Script } from "./script.ts";

/** Places of tasks of other partitions. */
interface Question {
  readonly queue: string;
  readonly scores: readonly string[];
  /** Whether tasks with the same score come before a place. */
  readonly equals: boolean;
}

/** The reply. */
export interface Counted {
  /** How many tasks come before each place. */
  readonly before: readonly number[];
  readonly waiting: number;
  readonly scheduled: number;
  readonly running: number;
  readonly resting: boolean;
}

/** Short, since the caller also has partitions that answer while a cluster is changing. */
const PATIENCE_MS = 300;

/** Counts the tasks of this partition that come before some places, and its lines. */
export const count =
  (script: Script) =>
  async (tag: string, questions: readonly Question[]): Promise<Counted[]> => {
    const args = questions.flatMap((q) => [q.queue, q.equals ? "<=" : "<", runsOf(q.scores).join(" ")]);
    return list(await script.text(tag, args, PATIENCE_MS)).map((reply) => {
      const [waiting, scheduled, running, resting, ...before] = text(reply).split(" ");
      return {
        waiting: Number(waiting),
        scheduled: Number(scheduled),
        running: Number(running),
        resting: resting === "1",
        before: before.flatMap(countsOf),
      };
    });
  };

/** Tasks submitted together have consecutive scores, which are written as one: see count.lua. */
function runsOf(scores: readonly string[]): string[] {
  const runs: { readonly first: string; last: number; more: number }[] = [];
  for (const score of scores) {
    const run = runs.at(-1);
    if (run && /^\d+$/.test(score) && Number(score) === run.last + 1) {
      run.last += 1;
      run.more += 1;
    } else {
      runs.push({ first: score, last: Number(score), more: 0 });
    }
  }
  return runs.map(({ first, more }) => (more === 0 ? first : `${first}+${more}`));
}

/** Reads a count, or "count*n" for as many tasks. */
function countsOf(counts: string): number[] {
  const [before, tasks = 1] = counts.split("*").map(Number);
  return Array.from({ length: tasks }, () => before ?? 0);
}
