import { setTimeout as delay } from "node:timers/promises";
import type { TaskContext } from "paihao";
import type { Mark } from "./history/history.ts";

/** The input of a task. */
export interface Work {
  readonly ms: number;
  /** How many runs fail before one succeeds. */
  readonly failures?: number;
  /** Whether a step is stored on the way. */
  readonly step?: boolean;
  /** Its key in a keyed line. */
  readonly key?: string | undefined;
  /** Makes it large. */
  readonly ballast?: string;
}

/** How often each task has run in this process. */
const runs = new Map<string, number>();

/** Does the work of a task, and notes its beginning and its end outside of the store. */
export async function work(input: Work, task: TaskContext, note: (type: Mark["type"]) => void) {
  const { ms, failures = 0, step } = input;
  const nth = (runs.get(task.id) ?? 0) + 1;
  runs.set(task.id, nth);
  note("begins");
  try {
    // Fails if its lease is lost.
    if (step) await task.step("stored", () => "x".repeat(300));
    // Ignores its signal, since the store must refuse a result that comes too late.
    await delay(ms);
  } finally {
    note("ends");
  }
  if (nth <= failures) throw new Error("boom");
  return { id: task.id, pid: process.pid, fence: task.fence };
}
