/** Workers whose tasks sleep for as long as a workload says, and the estimates of their starts: `estimates URL`. */
import { setTimeout as delay } from "node:timers/promises";
import type { Eta } from "../../src/wire/task.ts";
import { MEAN, WORKLOADS, type WorkloadName } from "../../test/shared/line-simulation.ts";
import { randomOf } from "../../test/shared/random.ts";
import { submissionOf } from "../../test/shared/submission.ts";
import { type BuiltEngine, built, openBuiltEngine } from "../harness/built.ts";
import { serve } from "../harness/rpc.ts";

const [url = ""] = process.argv.slice(2);
/** Tasks that arrive together. */
const WAVE = 30;

const { estimate } =
  await built<typeof import("../../src/engine/estimates/estimate.ts")>("engine/estimates/estimate.js");
const { Worker } = await built<typeof import("../../src/workers/worker.ts")>("workers/worker.js");

interface Scenario {
  readonly workload: WorkloadName;
  readonly slots: number;
  /** Lines that run at once, each with its own slots: the estimates of one wave are right or wrong together. */
  readonly lines: number;
  /** The slots of each line. */
  readonly tasks: number;
  readonly meanMs: number;
  readonly prefix: string;
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
  async measure(scenario: Scenario): Promise<Told[]> {
    const { workload, slots, lines, meanMs, prefix } = scenario;
    const queues = Array.from({ length: lines }, (_, n) => {
      const random = randomOf(100 * slots + n);
      let begun = 0;
      const run = async () => {
        begun += 1;
        await delay((WORKLOADS[workload](begun, random) * meanMs) / MEAN);
      };
      return { queue: `line${n}`, concurrency: slots, run };
    });
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
      return (await Promise.all(queues.map(({ queue }, n) => feed(built, queue, randomOf(n + 1), scenario)))).flat();
    } finally {
      await worker.stop();
      built.close();
    }
  },
};
export type EstimateCalls = typeof calls;
serve(calls);

/** Submits the tasks of one line in waves, as many as its slots can do, and waits until the last has started. */
async function feed(
  { engine }: BuiltEngine,
  queue: string,
  random: () => number,
  { slots, tasks, meanMs }: Scenario,
): Promise<Told[]> {
  const given: { readonly id: string; readonly eta: Eta }[] = [];
  const startOf = async (id: string) => (await engine.inspector.inspect(id, { result: false }))?.startedMs;
  const last = `${queue}-${tasks - 1}`;
  for (let n = 0; n < tasks; n += WAVE) {
    for (let k = n; k < Math.min(n + WAVE, tasks); k += 1) {
      const id = `${queue}-${k}`;
      const { index, snapshot } = await engine.submitter.submit(
        submissionOf(id, queue, "{}"),
        engine.queues.settings(queue),
      );
      const eta = estimate(snapshot, { state: "waiting", index }, 0);
      if (eta?.basis === "history") given.push({ id, eta });
    }
    await delay(((WAVE * meanMs) / slots) * 2 * random());
  }
  while (!(await startOf(last))) await delay(meanMs);
  const seen = await Promise.all(given.map(({ id }) => engine.inspector.inspect(id, { result: false })));
  return given.map(({ eta }, i) => {
    const { createdMs = 0, startedMs = 0 } = seen[i] ?? {};
    const { samples, low, seconds, high } = eta;
    return { samples, low, seconds, high, waited: ((startedMs ?? 0) - createdMs) / 1000 };
  });
}
