import { setTimeout as delay } from "node:timers/promises";
import type { Bench, BenchOptions } from "./harness/bench.ts";
import { compare, milliseconds } from "./harness/judge.ts";
import type { Began, PeerCalls } from "./harness/peers.ts";
import { startCallable } from "./harness/rpc.ts";
import { type BenchStore, withEachStore } from "./harness/store.ts";
import { inTurns, median } from "./harness/turns.ts";

/** Pause between two tasks, ms: the worker is idle again. */
const PAUSE_MS = 15;

/** How long a task waits for an idle worker: from the call that submits it to the call of its handler. */
export const pickup: Bench = {
  name: "pickup",
  title: "Pickup latency: one task, an idle worker in another process",
  async run(options) {
    return { figures: await withEachStore((store) => measure(store, options)) };
  },
};

async function measure(store: BenchStore, options: BenchOptions) {
  options.say(`store: ${store.mode}`);
  const args = { paihao: [store.url, "ph"], bullmq: [String(store.port)] };
  const ours = await startPair("paihao", args.paihao);
  const theirs = await startPair("bullmq", args.bullmq);
  const count = options.quick ? 60 : 200;
  try {
    const turns = await inTurns(options.pairs, {
      paihao: () => ours.median(count),
      bullmq: () => theirs.median(count),
    });
    return compare({
      figure: "pickup, p50",
      against: "BullMQ",
      store: store.mode,
      ours: turns.paihao,
      theirs: turns.bullmq,
      show: milliseconds,
      target: { atMost: 0.8 },
    });
  } finally {
    await Promise.all([ours.stop(), theirs.stop()]);
  }
}

/** One process submits and another one works. */
async function startPair(name: string, args: readonly string[]) {
  const worker = startCallable<PeerCalls>(name, args);
  const submitter = startCallable<PeerCalls>(name, args);
  let heard: (began: string) => void = () => undefined;
  worker.onEvent((event) => heard((event as Began).began));
  await worker.call("listen", null);
  return {
    async median(count: number): Promise<number> {
      const latencies: number[] = [];
      for (let n = 0; n < count; n += 1) {
        const began = new Promise<string>((resolve) => {
          heard = resolve;
        });
        const at = await submitter.call("add", null);
        latencies.push(Number(BigInt(await began) - BigInt(at)) / 1e6);
        await delay(PAUSE_MS);
      }
      return median(latencies);
    },
    stop: () => Promise.all([worker.stop(), submitter.stop()]),
  };
}
