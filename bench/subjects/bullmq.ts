/** BullMQ with its defaults, called by the bench: `bullmq PORT`. */
import { randomUUID } from "node:crypto";
import { Queue, Worker } from "bullmq";
import { bodyOf, resultOf } from "../harness/load.ts";
import { monotonicNs, type PeerCalls } from "../harness/peers.ts";
import { serve, tell } from "../harness/rpc.ts";

const NAME = "bench";
const CHUNK = 1000;
const connection = { host: "127.0.0.1", port: Number(process.argv[2]), maxRetriesPerRequest: null };
let added: Queue | undefined;

const calls: PeerCalls = {
  async fill({ count, bytes }) {
    const queue = new Queue(NAME, { connection });
    await queue.waitUntilReady();
    const data: unknown = JSON.parse(bodyOf(bytes));
    const began = performance.now();
    for (let n = 0; n < count; n += CHUNK) {
      const length = Math.min(CHUNK, count - n);
      await queue.addBulk(Array.from({ length }, () => ({ name: "task", data, opts: { jobId: randomUUID() } })));
    }
    const took = performance.now() - began;
    await queue.close();
    return took;
  },
  async work({ count, concurrency, resultBytes }) {
    const result = resultOf(resultBytes);
    let began = 0;
    const worker = new Worker(
      NAME,
      async () => {
        if (began === 0) began = performance.now();
        return result;
      },
      { connection, concurrency, autorun: false },
    );
    await worker.waitUntilReady();
    let finished = 0;
    const all = new Promise<void>((resolve) => {
      worker.on("completed", () => {
        finished += 1;
        if (finished === count) resolve();
      });
    });
    void worker.run();
    await all;
    const took = performance.now() - began;
    await worker.close();
    return took;
  },
  async listen() {
    const worker = new Worker(
      NAME,
      async () => {
        tell({ began: monotonicNs() });
        return { ok: true };
      },
      { connection, concurrency: 8 },
    );
    await worker.waitUntilReady();
  },
  async add() {
    if (!added) {
      added = new Queue(NAME, { connection });
      await added.waitUntilReady();
    }
    const at = monotonicNs();
    await added.add("task", JSON.parse(bodyOf(56)), { jobId: randomUUID() });
    return at;
  },
};
serve(calls);
