/** Handlers of the servers under fault. Each execution is noted in a journal outside of the store: it alone tells the truth. */
import { appendFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { defineHandler, type TaskContext } from "paihao";

/** What the tasks of all queues are given; what else they carry only makes them large. */
interface Work {
  readonly ms: number;
  /** Whether a step is kept on the way. */
  readonly step?: boolean;
}

const journal = process.env.CHAOS_JOURNAL ?? "";
// One short line a call, and always at the end of the file: lines of several processes do not mix.
const note = (...words: unknown[]) => appendFileSync(journal, `${words.join(" ")}\n`);

const takeTime = async ({ ms }: Work, task: TaskContext) => {
  note(task.id, task.attempt, process.pid, "begins");
  await delay(ms);
  note(task.id, task.attempt, process.pid, "ends");
};

/** Takes its time whatever its signal says: what it makes too late is the store's to refuse. */
export const work = defineHandler<Work>({
  queue: "work",
  lease: "1s",
  // Enough for two requests for tasks to be underway.
  concurrency: 24,
  attempts: 3,
  // Workers are killed all the time here; only the pill is to be condemned for it.
  maxLost: 100,
  run: async ({ ms, step = false }, task) => {
    note(task.id, task.attempt, process.pid, "begins");
    if (step) await task.step("kept", () => "x".repeat(1000));
    await delay(ms);
    note(task.id, task.attempt, process.pid, "ends");
    return { id: task.id, pid: process.pid };
  },
});

/** Runs beside the pill, and may be lost with it once: not twice. */
export const neighbor = defineHandler<Work>({
  queue: "neighbor",
  // Renewed in time even by a machine that has far too much to do: to be late is to be lost.
  lease: "4s",
  concurrency: 8,
  maxLost: 1,
  run: takeTime,
});

/** Works while workers are killed, and is not to be condemned for it. */
export const innocent = defineHandler<Work>({
  queue: "innocent",
  lease: "3s",
  concurrency: 8,
  run: takeTime,
});

/** Kills whoever runs it. */
export const pill = defineHandler<Work>({
  queue: "pill",
  lease: "1s",
  concurrency: 1,
  maxLost: 2,
  run: async ({ ms }, task) => {
    note(task.id, task.attempt, process.pid, "begins");
    await delay(ms);
    process.kill(process.pid, "SIGKILL");
    // The signal is on its way.
    await delay(60_000);
  },
});
