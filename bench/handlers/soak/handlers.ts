/** A queue for each kind of task, see bench/soak/kinds.ts. */
import { setTimeout as delay } from "node:timers/promises";
import { defineHandler, giveUp } from "paihao";

const WORK_MS = 20;

export const plain = defineHandler({
  queue: "plain",
  lease: "3s",
  run: () => delay(WORK_MS, "done"),
});

export const batch = defineHandler<{ doomed: boolean }>({
  queue: "batch",
  lease: "3s",
  batch: { max: 8, wait: "50ms" },
  run: async (inputs) => {
    await delay(WORK_MS);
    return inputs.map(({ doomed }) => (doomed ? giveUp({ status: 422, title: "Not this one" }) : "done"));
  },
});

export const limited = defineHandler<{ account: string }>({
  queue: "limited",
  lease: "3s",
  limit: { waiting: 2, running: 1, by: ({ account }) => account },
  run: () => delay(10 * WORK_MS, "done"),
});

export const fair = defineHandler<{ tenant: string }>({
  queue: "fair",
  lease: "3s",
  fair: { by: ({ tenant }) => tenant },
  run: () => delay(WORK_MS, "done"),
});

export const keyed = defineHandler<{ account: string }>({
  queue: "keyed",
  lease: "3s",
  keyed: { by: ({ account }) => account },
  run: () => delay(WORK_MS, "done"),
});

export const output = defineHandler({
  queue: "output",
  lease: "3s",
  run: async (_input, task) => {
    for (let n = 0; n < 5; n += 1) {
      void task.write(`word ${n}`);
      await delay(WORK_MS);
    }
    return "x".repeat(2000);
  },
});

/** Every second trip fails, and its steps are undone. */
export const trip = defineHandler<{ fails: boolean }>({
  queue: "trip",
  lease: "3s",
  run: async ({ fails }, task) => {
    for (const city of ["Rome", "Oslo"]) await task.step(`hotel:${city}`, () => delay(WORK_MS, city));
    if (fails) throw giveUp({ status: 422, title: "No way there" });
    return "done";
  },
  undo: { hotel: () => delay(WORK_MS) },
});

/** Fails at first, and for good if it is doomed. */
export const flaky = defineHandler<{ doomed: boolean }>({
  queue: "flaky",
  lease: "3s",
  attempts: 2,
  backoff: { base: "100ms", max: "1s" },
  run: ({ doomed }, task) => {
    if (doomed || task.attempt === 1) throw new Error("not yet");
    return "done";
  },
});
