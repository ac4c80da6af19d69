import { list, text } from "./reply.ts";
import type { Script } from "./script.ts";

/** Places in a queue of another partition. */
interface Question {
  readonly queue: string;
  readonly scores: readonly string[];
  /** Whether what has the same score stands before a place. */
  readonly equals: boolean;
}

/** The answer to it. */
export interface Counted {
  /** How many stand before each place. */
  readonly before: readonly number[];
  readonly waiting: number;
  readonly scheduled: number;
  readonly running: number;
}

/** While a cluster is changing: whoever counts also has partitions that answer. */
const PATIENCE_MS = 300;

/** How many of this partition stand before some places, and how long its lines are. */
export const count =
  (script: Script) =>
  async (tag: string, questions: readonly Question[]): Promise<Counted[]> => {
    const args = questions.flatMap((q) => [q.queue, q.equals ? "<=" : "<", q.scores.join(" ")]);
    return list(await script.text(tag, args, PATIENCE_MS)).map((reply) => {
      const [waiting = 0, scheduled = 0, running = 0, ...before] = text(reply).split(" ").map(Number);
      return { waiting, scheduled, running, before };
    });
  };
