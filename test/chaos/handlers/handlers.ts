/** Handlers of the servers under fault. Each execution is noted in a journal outside of the store: it alone tells the truth. */
import { appendFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { defineHandler, type TaskContext } from "paihao";

/** What the tasks of all queues are given; what else they carry only makes them large. */
interface Work {
  readonly ms: number;
  /** Its key in a keyed line. */
  readonly key?: string;
  /** Whether a step is kept on the way. */
  readonly step?: boolean;
}

const journal = process.env.CHAOS_JOURNAL ?? "";
// One short line a call, and always at the end of the file: lines of several processes do not mix.
const note = (type: "begins" | "ends", { id, queue, fence }: TaskContext, { key }: Work) => {
  const mark = { type, id, queue, key, fence, pid: process.pid, at: Number(process.hrtime.bigint()) / 1e6 };
  appendFileSync(journal, `${JSON.stringify(mark)}\n`);
};

/** Takes its time whatever its signal says: what it makes too late is the store's to refuse. */
const takeTime = async (input: Work, task: TaskContext) => {
  note("begins", task, input);
  if (input.step) await task.step("kept", () => "x".repeat(1000));
  await delay(input.ms);
  note("ends", task, input);
  return { id: task.id, pid: process.pid, fence: task.fence };
};

export const work = defineHandler<Work>({
  queue: "work",
  lease: "1s",
  // Enough for two requests for tasks to be underway.
  concurrency: 24,
  attempts: 3,
  // Workers are killed all the time here; only the pill is to be condemned for it.
  maxLost: 100,
  run: takeTime,
});

/** One task of each key at a time, in order. */
export const keyed = defineHandler<Work>({
  queue: "keyed",
  lease: "1s",
  concurrency: 8,
  maxLost: 100,
  keyed: { by: ({ key = null }) => key },
  run: takeTime,
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
  run: async (input, task) => {
    note("begins", task, input);
    await delay(input.ms);
    process.kill(process.pid, "SIGKILL");
    // The signal is on its way.
    await delay(60_000);
  },
});
