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
    const args = questions.flatMap((q) => [q.queue, q.equals ? "<=" : "<", q.scores.join(" ")]);
    return list(await script.text(tag, args, PATIENCE_MS)).map((reply) => {
      const [waiting = 0, scheduled = 0, running = 0, resting, ...before] = text(reply).split(" ").map(Number);
      return { waiting, scheduled, running, resting: resting === 1, before };
    });
  };
