/** Paihao's engine and worker, called by the bench: `paihao URL PREFIX [PARTITIONS]`. */

import { randomUUID } from "node:crypto";
import type { Engine } from "../../src/engine/engine.ts";
import { submissionOf } from "../../test/shared/submission.ts";
import { built, openBuiltEngine } from "../harness/built.ts";
import { benchId, bodyOf, resultOf } from "../harness/load.ts";
import { monotonicNs, type PeerCalls } from "../harness/peers.ts";
import { serve, tell } from "../harness/rpc.ts";

const [url = "", prefix = "ph", partitions = "1"] = process.argv.slice(2);
const QUEUE = "default";
/** How many tasks are submitted before the first are awaited: as many as BullMQ takes in one addBulk. */
const CHUNK = 1000;

const { Worker } = await built<typeof import("../../src/workers/worker.ts")>("workers/worker.js");

async function startWorker(concurrency: number, run: () => unknown) {
  const { engine, handlers, log, close } = await openBuiltEngine(
    url,
    prefix,
    [{ queue: QUEUE, concurrency, run }],
    Number(partitions),
  );
  const worker = new Worker({
    engine,
    handlers,
    log,
    maxResultBytes: 1 << 20,
    maxOutputBytes: 1 << 20,
    drainTimeoutMs: 1000,
  });
  await worker.start();
  return {
    engine,
    stop: async () => {
      await worker.stop();
      close();
    },
  };
}

const client = await openBuiltEngine(
  url,
  prefix,
  [{ queue: QUEUE, concurrency: 1, run: () => undefined }],
  Number(partitions),
);

/** Submits tasks in chunks; ids are UUIDs, or those of {@link benchId} from a number on. */
async function submitMany(engine: Engine, count: number, bytes: number, idOf: (n: number) => string): Promise<number> {
  const settings = engine.queues.settings(QUEUE);
  const input = bodyOf(bytes);
  const began = performance.now();
  for (let n = 0; n < count; n += CHUNK) {
    const chunk = Array.from({ length: Math.min(CHUNK, count - n) }, (_, k) => submissionOf(idOf(n + k), QUEUE, input));
    for (const end of await engine.tasks.submitAll(chunk, settings)) if (end.status === "rejected") throw end.reason;
  }
  return performance.now() - began;
}

/** The calls that only this subject answers. */
export type PaihaoCalls = PeerCalls & {
  /** Fills the line with tasks whose ids a load generator can draw. */
  fillKnown(args: { count: number; bytes: number; from: number }): Promise<number>;
  /** Processor time of this process so far. */
  cpuSeconds(): Promise<number>;
};

const calls: PaihaoCalls = {
  fill: ({ count, bytes }) => submitMany(client.engine, count, bytes, () => randomUUID()),
  fillKnown: ({ count, bytes, from }) => submitMany(client.engine, count, bytes, (n) => benchId(from + n)),
  cpuSeconds: async () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6;
  },
  async work({ count, concurrency, resultBytes }) {
    const result = resultOf(resultBytes);
    let started = 0;
    let began = 0;
    let allStarted = (): void => undefined;
    const all = new Promise<void>((resolve) => {
      allStarted = resolve;
    });
    const worker = await startWorker(concurrency, () => {
      if (started === 0) began = performance.now();
      started += 1;
      if (started === count) allStarted();
      return result;
    });
    await all;
    // The last tasks are finished when their leases are gone.
    const { keys } = worker.engine;
    for (const tag of keys.tags) while ((await client.redis.zcard(keys.index(tag, "leases", QUEUE))) > 0);
    const took = performance.now() - began;
    await worker.stop();
    return took;
  },
  async listen() {
    await startWorker(8, () => {
      tell({ began: monotonicNs() });
      return { ok: true };
    });
  },
  async add() {
    const at = monotonicNs();
    await client.engine.tasks.submit(
      submissionOf(randomUUID(), QUEUE, bodyOf(56)),
      client.engine.queues.settings(QUEUE),
    );
    return at;
  },
};
serve(calls);
