/** bee-queue with its defaults, called by the bench: `bee PORT`. */
import { randomUUID } from "node:crypto";
import BeeQueue from "bee-queue";
import { bodyOf } from "../harness/load.ts";
import { monotonicNs, type PeerCalls } from "../harness/peers.ts";
import { serve, tell } from "../harness/rpc.ts";

const NAME = "bench";
const CHUNK = 1000;
const redis = { host: "127.0.0.1", port: Number(process.argv[2]) };
let added: BeeQueue | undefined;

const calls: PeerCalls = {
  async fill({ count, bytes }) {
    const queue = new BeeQueue(NAME, { redis, isWorker: false });
    await queue.ready();
    const data: unknown = JSON.parse(bodyOf(bytes));
    const began = performance.now();
    for (let n = 0; n < count; n += CHUNK) {
      const length = Math.min(CHUNK, count - n);
      await queue.saveAll(Array.from({ length }, () => queue.createJob(data).setId(randomUUID())));
    }
    const took = performance.now() - began;
    await queue.close();
    return took;
  },
  async work({ count, concurrency }) {
    const queue = new BeeQueue(NAME, { redis });
    await queue.ready();
    let began = 0;
    let finished = 0;
    const all = new Promise<void>((resolve) => {
      queue.on("succeeded", () => {
        finished += 1;
        if (finished === count) resolve();
      });
    });
    queue.process(concurrency, async () => {
      if (began === 0) began = performance.now();
      return { ok: true };
    });
    await all;
    const took = performance.now() - began;
    await queue.close();
    return took;
  },
  async listen() {
    const queue = new BeeQueue(NAME, { redis });
    await queue.ready();
    queue.process(8, async () => {
      tell({ began: monotonicNs() });
      return { ok: true };
    });
  },
  async add() {
    if (!added) {
      added = new BeeQueue(NAME, { redis, isWorker: false });
      await added.ready();
    }
    const at = monotonicNs();
    await added
      .createJob(JSON.parse(bodyOf(56)))
      .setId(randomUUID())
      .save();
    return at;
  },
};
serve(calls);
