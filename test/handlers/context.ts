import type { TaskContext } from "../../src/handler/task-context.ts";
import { createLog } from "../../src/log.ts";

/** What a handler reported. */
export interface Report {
  percent: number;
  message: string | undefined;
}

/** A task as a handler sees it, and everything that it reported. */
export function taskContext(given: Partial<TaskContext> = {}): { task: TaskContext; reports: Report[] } {
  const reports: Report[] = [];
  const task: TaskContext = {
    id: "test-1",
    queue: "test",
    attempt: 1,
    maxAttempts: 3,
    fence: 1,
    signal: new AbortController().signal,
    log: createLog("silent"),
    query: {},
    mediaType: "application/json",
    submittedAt: new Date(),
    caller: null,
    traceHeaders: {},
    progress: (percent, message) => reports.push({ percent, message }),
    write: async () => {},
    step: async (_name, work) => work(),
    ...given,
  };
  return { task, reports };
}

/** What was thrown by something that must throw. */
export async function thrownBy(work: () => unknown): Promise<unknown> {
  try {
    await work();
  } catch (thrown) {
    return thrown;
  }
  throw new Error("nothing was thrown");
}
