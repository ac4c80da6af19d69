import { appendFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { defineHandler } from "paihao";

/** Records in a file when it begins and ends, and in which process, since its process is killed again and again. */
export const lossy = defineHandler<{ ms: number; journal: string }>({
  queue: "lossy",
  lease: "3s",
  concurrency: 8,
  run: async ({ ms, journal }, task) => {
    const note = (what: string) =>
      appendFileSync(journal, `${task.id} ${what} ${process.pid} ${process.ppid} ${Date.now()}\n`);
    note("begins");
    await delay(ms);
    note("ends");
  },
});
