/** A queue for each kind of task that only a soak has, see test/world/soak/beside.ts. */
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
