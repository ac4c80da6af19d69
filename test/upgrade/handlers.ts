import { appendFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { defineHandler, giveUp, type TaskContext } from "paihao";

/** Whose workers run a queue: those of the previous release, those of this one, both, or, over HTTP, the test. */
export type RunBy = "old" | "new" | "both" | "nobody";

/** Handlers note what they do in a file outside of the store, one line each: id, attempt, release, what. */
const note = (task: Pick<TaskContext, "id" | "attempt">, what: string) =>
  appendFileSync(
    process.env.UPGRADE_JOURNAL ?? "",
    `${task.id} ${task.attempt} ${process.env.UPGRADE_RELEASE} ${what}\n`,
  );

/** The same handlers for both releases, in queues that only the workers of `by` have: so a test decides who runs a task. */
export function handlersOf(by: RunBy) {
  const plain = async ({ ms }: { ms: number }, task: TaskContext) => {
    note(task, "begins");
    await delay(ms);
    note(task, "ends");
    return { id: task.id, release: process.env.UPGRADE_RELEASE };
  };
  const plainQueue = (name: string) => defineHandler<{ ms: number }>({ queue: `${name}.${by}`, run: plain });
  return {
    work: plainQueue("work"),
    line: plainQueue("line"),
    fair: defineHandler<{ ms: number; who: string }>({
      queue: `fair.${by}`,
      fair: { by: ({ who }) => who },
      run: plain,
    }),
    fairLine: defineHandler<{ ms: number; who: string }>({
      queue: `fairline.${by}`,
      fair: { by: ({ who }) => who },
      run: plain,
    }),
    keyed: defineHandler<{ ms: number; who: string }>({
      queue: `keyed.${by}`,
      keyed: { by: ({ who }) => who },
      run: plain,
    }),
    // Two of a key run at once, and one that waits for another attempt lets the next one start.
    pair: defineHandler<{ ms: number; who: string }>({
      queue: `pair.${by}`,
      keyed: { by: ({ who }) => who, concurrency: 2 },
      backoff: { base: "20ms", max: "20ms" },
      run: async (input, task) => {
        if (task.attempt > 1) return await plain(input, task);
        note(task, "begins");
        await delay(input.ms);
        note(task, "fails");
        throw new Error("the next attempt is better");
      },
    }),
    keyedLine: defineHandler<{ ms: number; who: string }>({
      queue: `keyedline.${by}`,
      keyed: { by: ({ who }) => who },
      run: plain,
    }),
    flaky: defineHandler({
      queue: `flaky.${by}`,
      backoff: { base: "50ms", max: "100ms" },
      run: async (_input, task) => {
        const kept = await task.step("once", () => note(task, "step"));
        if (task.attempt < 3) throw new Error("the next attempt is better");
        note(task, "ends");
        return { kept };
      },
    }),
    dead: defineHandler({
      queue: `dead.${by}`,
      attempts: 1,
      run: (_input, task) => {
        note(task, "begins");
        throw new Error("no attempt is good");
      },
    }),
    trip: defineHandler({
      queue: `trip.${by}`,
      run: async (_input, task) => {
        await task.step("hotel:Rome", () => "booked");
        throw giveUp({ status: 422, title: "Nobody can go there" });
      },
      undo: { hotel: (_value, { task }) => note({ ...task, attempt: 0 }, "undone") },
    }),
    echo: defineHandler<{ text: string }>({ queue: `echo.${by}`, run: ({ text }) => ({ text }) }),
    talk: defineHandler({
      queue: `talk.${by}`,
      run: async (_input, task) => {
        for (const word of ["take", "a", "number"]) await task.write(word);
        return { said: 3 };
      },
    }),
    slow: defineHandler({
      queue: `slow.${by}`,
      run: async (_input, task) => {
        note(task, "begins");
        await delay(60_000, undefined, { signal: task.signal }).catch(() => note(task, "signal"));
      },
    }),
  };
}
