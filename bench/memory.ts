import type { Bench, Figure } from "./harness/bench.ts";
import { bytes, compare } from "./harness/judge.ts";
import type { Peer, PeerCalls } from "./harness/peers.ts";
import { startCallable } from "./harness/rpc.ts";
import { openStore } from "./harness/store.ts";

/** Bytes of input, and how much of BullMQ's memory a waiting task may take. */
const SIZES = [
  { input: 56, atMost: 1.15 },
  { input: 200, atMost: 0.75 },
] as const;

/** What a waiting task costs in Redis. Memory does not depend on who else is on the machine: one turn each is enough. */
export const memory: Bench = {
  name: "memory",
  title: "Bytes in Redis for each waiting task, UUID ids",
  async run(options) {
    const store = await openStore("no persistence");
    const paihao = startCallable<PeerCalls>("paihao", [store.url, "ph"]);
    const bullmq = startCallable<PeerCalls>("bullmq", [String(store.port)]);
    const count = options.quick ? 20_000 : 100_000;
    const perTask = async (peer: Peer, input: number) => {
      await store.clear();
      const before = await store.usedMemory();
      await peer.call("fill", { count, bytes: input });
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
            ours: [await perTask(paihao, input)],
            theirs: [await perTask(bullmq, input)],
            show: bytes,
            target: { atMost },
          }),
        );
      }
      return { figures, raw: figures };
    } finally {
      await Promise.all([paihao.stop(), bullmq.stop()]);
      await store.stop();
    }
  },
};
