/** Workers whose tasks sleep for as long as a line says, and the estimates of their starts: `estimates URL`. */
import { setTimeout as delay } from "node:timers/promises";
import type { Eta } from "../../src/wire/task.ts";
import { submissionOf } from "../../test/shared/submission.ts";
import { type BuiltEngine, built, openBuiltEngine } from "../harness/built.ts";
import { serve } from "../harness/rpc.ts";
import type { Line, LineTask } from "../lines.ts";

const [url = ""] = process.argv.slice(2);
/** How often it is asked whether the last task has started, ms. */
const LOOK_MS = 50;

const { estimate } =
  await built<typeof import("../../src/engine/estimates/estimate.ts")>("engine/estimates/estimate.js");
const { Worker } = await built<typeof import("../../src/workers/worker.ts")>("workers/worker.js");

interface Scenario {
  readonly prefix: string;
  /** The slots of each line. */
  readonly slots: number;
  /** Lines that run at once, each with its own slots: the estimates of one wave are right or wrong together. */
  readonly lines: readonly Line[];
}

/** An estimate that a caller got, seconds, and when the task started. */
export interface Told {
  readonly samples: number;
  readonly low: number;
  readonly seconds: number;
  readonly high: number;
  readonly waited: number;
}

const calls = {
  /** Runs the tasks of a scenario; resolves with the estimates of those that had to wait. */
  async measure({ prefix, slots, lines }: Scenario): Promise<Told[]> {
    const queues = lines.map((_, n) => ({
      queue: `line${n}`,
      concurrency: slots,
      run: (ms: unknown) => delay(Number(ms)),
    }));
    const built = await openBuiltEngine(url, prefix, queues);
    const { engine, handlers, log } = built;
    const worker = new Worker({
      engine,
      handlers,
      log,
      maxResultBytes: 1 << 20,
      maxOutputBytes: 1 << 20,
      drainTimeoutMs: 1000,
    });
    await worker.start();
    try {
      return (await Promise.all(lines.map((line, n) => feed(built, `line${n}`, line)))).flat();
    } finally {
      await worker.stop();
      built.close();
    }
  },
};
export type EstimateCalls = typeof calls;
serve(calls);

/** Submits the tasks of a line, each at its time, and waits until the last has started. */
async function feed({ engine }: BuiltEngine, queue: string, line: Line): Promise<Told[]> {
  const given: { readonly id: string; readonly eta: Eta }[] = [];
  const submitted: Promise<void>[] = [];
  const submit = async (id: string, { ms, judged }: LineTask) => {
    const submission = submissionOf(id, queue, String(ms));
    const { index, snapshot } = await engine.submitter.submit(submission, engine.queues.settings(queue));
    const eta = judged && estimate(snapshot, { state: "waiting", index }, 0);
    if (eta && eta.basis === "history") given.push({ id, eta });
  };
  const startOf = async (id: string) => (await engine.inspector.inspect(id, { result: false }))?.startedMs;
  const began = performance.now();
  for (const [n, task] of line.entries()) {
    const early = began + task.atMs - performance.now();
    if (early > 1) await delay(early);
    submitted.push(submit(`${queue}-${n}`, task));
  }
  await Promise.all(submitted);
  while (!(await startOf(`${queue}-${line.length - 1}`))) await delay(LOOK_MS);
  const seen = await Promise.all(given.map(({ id }) => engine.inspector.inspect(id, { result: false })));
  return given.map(({ eta }, i) => {
    const { createdMs = 0, startedMs = 0 } = seen[i] ?? {};
    const { samples, low, seconds, high } = eta;
    return { samples, low, seconds, high, waited: ((startedMs ?? 0) - createdMs) / 1000 };
  });
}
