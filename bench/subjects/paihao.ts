/** Paihao's engine and worker, called by the bench: `paihao URL PREFIX [PARTITIONS]`. */

import { randomUUID } from "node:crypto";
import type { Engine } from "../../src/engine/engine.ts";
import { submissionOf } from "../../test/shared/submission.ts";
import { built, openBuiltEngine } from "../harness/built.ts";
import { benchId, bodyOf, resultOf } from "../harness/load.ts";
import { monotonicNs, type PeerCalls } from "../harness/peers.ts";
import { serve, tell } from "../harness/rpc.ts";

const [url = "", prefix = "ph", partitions = "1"] = process.argv.slice(2);
/** One queue for each partition: names that lead to all of three or six. */
const QUEUES = partitions === "1" ? ["default"] : Array.from({ length: Number(partitions) }, (_, n) => `queue-${n}`);
const [QUEUE = ""] = QUEUES;
/** How many tasks are submitted before the first are awaited: as many as BullMQ takes in one addBulk. */
const CHUNK = 1000;

const { Worker } = await built<typeof import("../../src/workers/worker.ts")>("workers/worker.js");

async function startWorker(concurrency: number, run: () => unknown) {
  const { engine, handlers, log, close } = await openBuiltEngine(
    url,
    prefix,
    QUEUES.map((queue) => ({ queue, concurrency, run })),
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
  QUEUES.map((queue) => ({ queue, concurrency: 1, run: () => undefined })),
  Number(partitions),
);

/** Submits tasks in chunks, each to the next queue; ids are UUIDs, or those of {@link benchId} from a number on. */
async function submitMany(
  engine: Engine,
  count: number,
  bytes: number,
  idOf: (n: number, queue: string) => string,
): Promise<number> {
  const input = bodyOf(bytes);
  const began = performance.now();
  for (let n = 0; n < count; n += CHUNK) {
    const queue = QUEUES[(n / CHUNK) % QUEUES.length] ?? QUEUE;
    const ids = Array.from({ length: Math.min(CHUNK, count - n) }, (_, k) => idOf(n + k, queue));
    const chunk = ids.map((id) => submissionOf(id, queue, input));
    for (const end of await engine.submitter.submitAll(chunk, engine.queues.settings(queue)))
      if (end.status === "rejected") throw end.reason;
  }
  return performance.now() - began;
}

/** An id as the server makes it: it leads to the partition of its queue. */
const idFor = (queue: string) =>
  client.engine.keys.idIn(client.engine.keys.partitionOfQueue(queue), () => randomUUID());

/** The calls that only this subject answers. */
export type PaihaoCalls = PeerCalls & {
  /** Fills the line with tasks whose ids a load generator can draw. */
  fillKnown(args: { count: number; bytes: number; from: number }): Promise<number>;
  /** Processor time of this process so far. */
  cpuSeconds(): Promise<number>;
};

const calls: PaihaoCalls = {
  fill: ({ count, bytes }) => submitMany(client.engine, count, bytes, (_, queue) => idFor(queue)),
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
    const worker = await startWorker(concurrency, async () => {
      if (started === 0) began = performance.now();
      started += 1;
      if (started === count) allStarted();
      return result;
    });
    await all;
    // The last tasks are finished when their leases are gone.
    const { keys } = worker.engine;
    for (const queue of QUEUES) {
      const leases = keys.index(keys.tagOfQueue(queue), "leases", queue);
      while ((await client.redis.zcard(leases)) > 0);
    }
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
    await client.engine.submitter.submit(
      submissionOf(idFor(QUEUE), QUEUE, bodyOf(56)),
      client.engine.queues.settings(QUEUE),
    );
    return at;
  },
};
serve(calls);
