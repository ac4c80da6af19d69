import { setTimeout as sleep } from "node:timers/promises";
import { defineHandler } from "paihao";
import { z } from "zod";

const LONGEST_S = 3600;
/** Progress is reported this often on the way. */
const REPORTS = 10;

/** A time as people say it: "2.7 s", "40 s", "2 min". */
function about(seconds: number): string {
  if (seconds >= 59.5) return `${Math.round(seconds / 60)} min`;
  return `${seconds < 9.95 ? seconds.toFixed(1) : Math.round(seconds)} s`;
}

/**
 * Counts the seconds of `{ "seconds": 3 }`, one task at a time, with progress at each tenth: three submissions make a line, in which
 * place, estimate, progress and cancelling can be tried.
 */
export const count = defineHandler({
  queue: "default",
  description: "Counts seconds, one task at a time: to try a line.",
  input: z.strictObject({
    seconds: z
      .number()
      .min(0)
      .max(LONGEST_S)
      .meta({ description: "How long to count, fractions allowed", examples: [3] }),
  }),
  concurrency: 1,
  // A minute more than the longest count.
  timeout: (LONGEST_S + 60) * 1000,
  async run({ seconds }, task) {
    const totalMs = seconds * 1000;
    const startedAt = new Date();
    const startMs = performance.now();
    for (let tenth = 0; tenth < REPORTS && totalMs > 0; tenth++) {
      task.progress((tenth / REPORTS) * 100, `${about((seconds * (REPORTS - tenth)) / REPORTS)} left`);
      // Each tenth has its own time after the start, so that late timers do not add up.
      const dueMs = startMs + (totalMs * (tenth + 1)) / REPORTS;
      // The signal's reason is more useful than the timer's AbortError.
      await sleep(Math.max(0, dueMs - performance.now()), undefined, { signal: task.signal }).catch(() => {});
      task.signal.throwIfAborted();
    }
    task.progress(100, "done");
    return { seconds, startedAt: startedAt.toISOString(), finishedAt: new Date().toISOString() };
  },
});
