/** The handlers of the server in the pictures. */
import { setTimeout as sleep } from "node:timers/promises";
import { defineHandler } from "paihao";

interface Work {
  readonly ms: number;
  readonly fails?: string;
}

async function work(
  { ms, fails }: Work,
  task: { progress(percent: number, message?: string): unknown; signal: AbortSignal },
) {
  for (let part = 0; part < 10; part += 1) {
    await sleep(ms / 10, undefined, { signal: task.signal });
    task.progress((part + 1) * 10, `part ${part + 1} of 10`);
  }
  if (fails !== undefined) throw new Error(fails);
  return { done: true };
}

export const thumbnails = defineHandler<Work>({ queue: "thumbnails", concurrency: 6, run: work });
export const vision = defineHandler<Work>({ queue: "vision", concurrency: 1, run: work });
export const reports = defineHandler<Work>({ queue: "reports", concurrency: 4, run: work });
export const invoices = defineHandler<Work>({ queue: "invoices", concurrency: 3, attempts: 1, run: work });
export const emails = defineHandler<Work>({ queue: "emails", concurrency: 8, rate: { max: 4, per: "1s" }, run: work });
