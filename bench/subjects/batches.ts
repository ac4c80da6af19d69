/** A worker whose handler takes many tasks in one call: `batches URL`. */
import { setTimeout as delay } from "node:timers/promises";
import type { Eta } from "../../src/wire/task.ts";
import { randomOf } from "../../test/shared/random.ts";
import { submissionOf } from "../../test/shared/submission.ts";
import { built, openBuiltEngine } from "../harness/built.ts";
import { serve } from "../harness/rpc.ts";

const [url = ""] = process.argv.slice(2);
const QUEUE = "many";

const { estimate } =
  await built<typeof import("../../src/engine/estimates/estimate.ts")>("engine/estimates/estimate.js");
const { Worker } = await built<typeof import("../../src/workers/worker.ts")>("workers/worker.js");

interface Scenario {
  readonly prefix: string;
  readonly slots: number;
  readonly batch: { readonly max: number; readonly wait: string };
}

/** Opens a worker whose handler does `work` for each call, however many tasks it has. */
async function open({ prefix, slots, batch }: Scenario, work: (tasks: number) => Promise<unknown>) {
  const run = async (inputs: readonly unknown[]) => {
    await work(inputs.length);
    return inputs;
  };
  const { engine, handlers, log, close } = await openBuiltEngine(url, prefix, [
    { queue: QUEUE, concurrency: slots, batch, run },
  ]);
  const limits = { maxResultBytes: 1 << 20, maxOutputBytes: 1 << 20 };
  const worker = new Worker({ engine, handlers, log, ...limits, drainTimeoutMs: 1000 });
  const settings = engine.queues.settings(QUEUE);
  const submit = (id: string) => engine.submitter.submit(submissionOf(id, QUEUE, "{}"), settings);
  const startOf = async (id: string) => (await engine.inspector.inspect(id, { result: false }))?.startedMs ?? null;
  const stop = async () => {
    await worker.stop();
    close();
  };
  return { engine, worker, submit, startOf, stop };
}

/** An estimate that a caller was told, and how long the task waited, seconds. */
interface Told {
  readonly seconds: number;
  readonly low: number;
  readonly high: number;
  readonly waited: number;
}

const calls = {
  /** Runs tasks that are all in line; resolves with tasks per second. */
  async work({ tasks, callMs, ...scenario }: Scenario & { tasks: number; callMs: number }): Promise<number> {
    let began = 0;
    let left = tasks;
    let end: (at: number) => void = () => undefined;
    const ended = new Promise<number>((resolve) => {
      end = resolve;
    });
    const shop = await open(scenario, async (taken) => {
      began ||= performance.now();
      await delay(callMs);
      left -= taken;
      if (left === 0) end(performance.now());
    });
    await Promise.all(Array.from({ length: tasks }, (_, n) => shop.submit(`t${n}`)));
    await shop.worker.start();
    const seconds = ((await ended) - began) / 1000;
    await shop.stop();
    return tasks / seconds;
  },

  /** Feeds a line in waves; resolves with the estimates of tasks that had to wait. */
  async told({ waves, meanMs, ...scenario }: Scenario & { waves: number; meanMs: number }): Promise<Told[]> {
    const random = randomOf(scenario.slots);
    const shop = await open(scenario, () => delay(meanMs * (0.5 + random())));
    await shop.worker.start();
    const given: { readonly id: string; readonly eta: Eta }[] = [];
    // Three calls for each slot.
    const perWave = 3 * scenario.slots * scenario.batch.max;
    let last = "";
    for (let n = 0; n < waves; n += 1) {
      for (let k = 0; k < perWave; k += 1) {
        last = `w${n}-${k}`;
        const { index, snapshot } = await shop.submit(last);
        const eta = estimate(snapshot, { state: "waiting", index }, 0);
        if (eta?.basis === "history") given.push({ id: last, eta });
      }
      await delay(((perWave * meanMs) / scenario.slots / scenario.batch.max) * 2 * random());
    }
    while ((await shop.startOf(last)) === null) await delay(meanMs);
    const seen = await Promise.all(given.map(({ id }) => shop.engine.inspector.inspect(id, { result: false })));
    await shop.stop();
    return given.map(({ eta }, n) => {
      const { createdMs = 0, startedMs = 0 } = seen[n] ?? {};
      return { seconds: eta.seconds, low: eta.low, high: eta.high, waited: ((startedMs ?? 0) - createdMs) / 1000 };
    });
  },
};
export type BatchCalls = typeof calls;
serve(calls);
