/** Handlers of real processes under fault. Each run is recorded in a journal outside of the store, which no fault affects. */
import { appendFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { defineHandler, type TaskContext } from "paihao";
import { work as run, type Work } from "../../work.ts";

export * from "./kinds.ts";

const journal = process.env.WORLD_JOURNAL;
// One short line a call, and always at the end of the file: lines of several processes do not mix.
const note = (type: "begins" | "ends", { id, queue, fence }: TaskContext, { key }: Work) => {
  const mark = { type, id, queue, key, fence, pid: process.pid, at: Number(process.hrtime.bigint()) / 1e6 };
  if (journal !== undefined) appendFileSync(journal, `${JSON.stringify(mark)}\n`);
};
const recorded = (input: Work, task: TaskContext) => run(input, task, (type) => note(type, task, input));

export const work = defineHandler<Work>({
  queue: "work",
  lease: "1s",
  // Enough for two requests for tasks to be underway.
  concurrency: 24,
  attempts: 3,
  backoff: { base: "100ms", max: "1s" },
  // So that tasks that have succeeded make room in a full store.
  keepInput: false,
  // Workers are killed all the time here; only the pill may become dead by that.
  maxLost: 100,
  run: recorded,
});

/** One task of each key at a time, in order. */
export const keyed = defineHandler<Work>({
  queue: "keyed",
  lease: "1s",
  concurrency: 8,
  maxLost: 100,
  keyed: { by: ({ key = null }) => key },
  run: recorded,
});

/** Runs beside the pill, and may be lost with it once, but not twice. */
export const neighbor = defineHandler<Work>({
  queue: "neighbor",
  // Long enough to be renewed in time on a very busy machine: a late renewal would count as a loss.
  lease: "4s",
  concurrency: 8,
  maxLost: 1,
  run: recorded,
});

/** Kills the process that runs it. */
export const pill = defineHandler<Work>({
  queue: "pill",
  lease: "1s",
  concurrency: 1,
  maxLost: 2,
  run: async (input, task) => {
    note("begins", task, input);
    await delay(input.ms);
    process.kill(process.pid, "SIGKILL");
    // The signal is on its way.
    await delay(60_000);
  },
});
