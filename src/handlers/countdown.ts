import { setTimeout as sleep } from "node:timers/promises";
import { defineHandler } from "paihao";
import { z } from "zod";

/** Bounds of the time between two progress reports, which is a twentieth of the whole. */
const STEP_MS = { min: 100, max: 1000 } as const;
const LONGEST_S = 3600;

/** Waits for the given number of seconds and reports progress: to try out waiting, progress and cancelling. */
export const countdown = defineHandler({
  queue: "countdown",
  input: z.strictObject({
    seconds: z
      .number()
      .min(0)
      .max(LONGEST_S)
      .meta({ description: "How long to count, fractions allowed", examples: [10] }),
  }),
  // A minute longer than the longest countdown.
  timeout: (LONGEST_S + 60) * 1000,
  async run({ seconds }, task) {
    const totalMs = seconds * 1000;
    const stepMs = Math.min(STEP_MS.max, Math.max(STEP_MS.min, totalMs / 20));
    const startedAt = new Date();
    const startMs = performance.now();
    // Each step has its own time after the start, so that late timers do not add up.
    for (let dueMs = 0; dueMs < totalMs; ) {
      task.progress((dueMs / totalMs) * 100, `${((totalMs - dueMs) / 1000).toFixed(1)} s left`);
      dueMs = Math.min(dueMs + stepMs, totalMs);
      // The signal's reason is more useful than the timer's AbortError.
      await sleep(Math.max(0, startMs + dueMs - performance.now()), undefined, { signal: task.signal }).catch(() => {});
      task.signal.throwIfAborted();
    }
    task.progress(100, "done");
    return { seconds, startedAt: startedAt.toISOString(), finishedAt: new Date().toISOString() };
  },
});
