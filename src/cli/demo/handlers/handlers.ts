/** The queues of `paihao demo`: each has a character of its own. */
import { setTimeout as sleep } from "node:timers/promises";
import { defineHandler, type TaskContext } from "paihao";

interface Work {
  readonly seconds: number;
}

/** Takes its time, with progress at each tenth. */
async function work(seconds: number, task: TaskContext, each: (part: number) => void = () => undefined) {
  for (let part = 1; part <= 10; part += 1) {
    await sleep(seconds * 100, undefined, { signal: task.signal });
    each(part);
    task.progress(part * 10, `part ${part} of 10`);
  }
  return { seconds };
}

/** Many short ones. */
export const thumbnails = defineHandler<Work>({
  ...{ queue: "thumbnails", concurrency: 4 },
  run: ({ seconds }, task) => work(seconds, task),
});

/** The provider takes four a second. */
export const emails = defineHandler<Work>({
  ...{ queue: "emails", concurrency: 8, rate: { max: 4, per: "1s" } },
  schedules: { digest: { every: "1m", label: "digest", input: { seconds: 0.2 } } },
  run: ({ seconds }, task) => work(seconds, task),
});

/** One at a time in each worker, as on a GPU, with words as they come. */
export const vision = defineHandler<Work>({
  ...{ queue: "vision", concurrency: 1, lease: "5s" },
  run: ({ seconds }, task) =>
    work(seconds, task, (part) => {
      void task.write(`I see ${["a street", "two trees", "a red car", "a cat", "rain"][part % 5]}. `);
    }),
});

/** Those of one customer run one after the other. */
export const reports = defineHandler<Work & { readonly customer: number }>({
  ...{ queue: "reports", concurrency: 3, keyed: { by: ({ customer }) => `customer ${customer}` } },
  async run({ seconds }, task) {
    const rows = await task.step("read", async () => {
      await work(seconds / 2, task);
      return 1200;
    });
    await task.step("write", () => work(seconds / 2, task));
    return { rows };
  },
});

/** A customer with few pages does not wait behind one with many. */
export const translations = defineHandler<Work & { readonly customer: string }>({
  ...{ queue: "translations", concurrency: 1, fair: { by: ({ customer }) => customer } },
  run: ({ seconds }, task) => work(seconds, task),
});

/** Fails at every seventh number, and for good at every fourteenth. */
export const invoices = defineHandler<Work & { readonly number: number }>({
  ...{ queue: "invoices", concurrency: 2, attempts: 2, backoff: { base: "3s" } },
  schedules: { nightly: { cron: "0 3 * * *", timeZone: "Europe/Berlin", input: { number: 1000, seconds: 1 } } },
  async run({ number, seconds }, task) {
    task.log.info({ number }, "printing");
    await work(seconds, task);
    if (number % 7 === 0 && (task.attempt === 1 || number % 2 === 0))
      throw new Error("the printer at 10.0.3.17 refused the connection (ECONNREFUSED)");
    return { pages: 1 + (number % 3) };
  },
});
