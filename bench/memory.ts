import type { Bench, Figure } from "./harness/bench.ts";
import { bytes, compare } from "./harness/judge.ts";
import type { Peer, PeerCalls } from "./harness/peers.ts";
import { startCallable } from "./harness/rpc.ts";
import { openStore } from "./harness/store.ts";

/** Bytes of input, and how much of BullMQ's memory a waiting task may take. */
const SIZES = [
  { input: 56, atMost: 0.95 },
  { input: 200, atMost: 0.7 },
] as const;

/** Bytes of the result of a finished task, and how much of BullMQ's memory it may take while the result is kept. */
const FINISHED = { result: 60, atMost: 0.6 } as const;

/**
 * What a waiting task and a finished one cost in Redis. Memory does not depend on other load on the machine, so one turn each
 * is enough.
 */
export const memory: Bench = {
  name: "memory",
  title: "Bytes in Redis for each waiting and each finished task, UUID ids",
  async run(options) {
    const store = await openStore("no persistence");
    const paihao = startCallable<PeerCalls>("paihao", [store.url, "ph"]);
    const bullmq = startCallable<PeerCalls>("bullmq", [String(store.port)]);
    const count = options.quick ? 20_000 : 100_000;
    const perTask = async (peer: Peer, input: number, finish: boolean) => {
      await store.clear();
      const before = await store.usedMemory();
      await peer.call("fill", { count, bytes: input });
      if (finish) await peer.call("work", { count, concurrency: 100, resultBytes: FINISHED.result });
      return ((await store.usedMemory()) - before) / count;
    };
    try {
      const figures: Figure[] = [];
      for (const { input, atMost } of SIZES) {
        options.say(`inputs of ${input} B`);
        figures.push(
          compare({
            figure: `waiting task, input of ${input} B`,
            against: "BullMQ",
            store: store.mode,
            ours: [await perTask(paihao, input, false)],
            theirs: [await perTask(bullmq, input, false)],
            show: bytes,
            target: { atMost },
          }),
        );
      }
      options.say(`results of ${FINISHED.result} B`);
      figures.push(
        compare({
          figure: `finished task, input of ${SIZES[0].input} B, result of ${FINISHED.result} B`,
          against: "BullMQ, completed job",
          store: store.mode,
          ours: [await perTask(paihao, SIZES[0].input, true)],
          theirs: [await perTask(bullmq, SIZES[0].input, true)],
          show: bytes,
          target: { atMost: FINISHED.atMost },
        }),
      );
      return { figures };
    } finally {
      await Promise.all([paihao.stop(), bullmq.stop()]);
      await store.stop();
    }
  },
};
