/** A worker whose tasks sleep for as long as a workload says, and what was foretold of their starts: `estimates URL`. */
import { setTimeout as delay } from "node:timers/promises";
import { MEAN, WORKLOADS, type WorkloadName } from "../../testbed/line-simulation.ts";
import { randomOf } from "../../testbed/random.ts";
import { built, openBuiltEngine, submissionOf } from "../harness/built.ts";
import { serve } from "../harness/rpc.ts";

const [url = ""] = process.argv.slice(2);
const QUEUE = "default";
/** Tasks that arrive together. */
const WAVE = 30;

const { Worker } = await built<typeof import("../../src/workers/worker.ts")>("workers/worker.js");
const { forecastTurnovers } =
  await built<typeof import("../../src/engine/estimates/forecast.ts")>("engine/estimates/forecast.js");

interface Told {
  readonly id: string;
  readonly lowMs: number;
  readonly highMs: number;
}

const calls = {
  /** Runs so many tasks that take `meanMs` on average; resolves with how many starts lay within low and high. */
  async measure(args: { workload: WorkloadName; slots: number; tasks: number; meanMs: number; prefix: string }) {
    const { workload, slots, tasks, meanMs, prefix } = args;
    const random = randomOf(slots);
    let begun = 0;
    let ended = 0;
    const run = async () => {
      begun += 1;
      await delay((WORKLOADS[workload](begun, random) * meanMs) / MEAN);
      ended += 1;
    };
    const { engine, handlers, log, close } = await openBuiltEngine(url, prefix, [
      { queue: QUEUE, concurrency: slots, run },
    ]);
    const worker = new Worker({ engine, handlers, log, maxResultBytes: 1 << 20, drainTimeoutMs: 1000 });
    await worker.start();
    const told: Told[] = [];
    for (let n = 0; n < tasks; n += WAVE) {
      for (let k = n; k < Math.min(n + WAVE, tasks); k += 1) {
        const submission = submissionOf(`e${k}`, QUEUE, "{}");
        const { index, line } = await engine.submit(submission, engine.settings(QUEUE));
        const turnovers = (index ?? 0) + line.running - line.slots + 1;
        const { meanMs: mean, variance, samples, misses, agesMs } = line;
        if (turnovers <= 0 || mean === null || variance === null) continue;
        const busy = { turnovers, slots: line.slots, meanMs: mean, variance, samples, misses, agesMs };
        told.push({ id: submission.id, ...forecastTurnovers(busy) });
      }
      await delay(((WAVE * meanMs) / slots) * 2 * random());
    }
    while (ended < tasks) await delay(20);
    await worker.stop();
    const waits = await Promise.all(told.map(({ id }) => engine.inspect(id, { result: false })));
    const within = waits.filter((seen, i) => {
      const waited = (seen?.startedMs ?? 0) - (seen?.createdMs ?? 0);
      const { lowMs = 0, highMs = 0 } = told[i] ?? {};
      // Redis tells times in whole milliseconds.
      return waited >= lowMs - 1 && waited <= highMs + 1;
    });
    close();
    return { estimates: told.length, within: within.length };
  },
};
export type EstimateCalls = typeof calls;
serve(calls);
