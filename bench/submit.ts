import type { Bench, BenchOptions } from "./harness/bench.ts";
import { compare, perSecond } from "./harness/judge.ts";
import type { Peer, PeerCalls } from "./harness/peers.ts";
import { startCallable } from "./harness/rpc.ts";
import { type BenchStore, withEachStore } from "./harness/store.ts";
import { inTurns } from "./harness/turns.ts";

/** Handing tasks in by the thousand. */
export const submit: Bench = {
  name: "submit",
  title: "Engine: submitting in bulk",
  async run(options) {
    const all = await withEachStore((store) => measure(store, options));
    return { figures: all.map((one) => one.figure), raw: all.map((one) => one.raw) };
  },
};

async function measure(store: BenchStore, options: BenchOptions) {
  options.say(`store: ${store.mode}`);
  const paihao = startCallable<PeerCalls>("paihao", [store.url, "ph"]);
  const bullmq = startCallable<PeerCalls>("bullmq", [String(store.port)]);
  const count = options.quick ? 20_000 : 60_000;
  const turn = (peer: Peer) => async () => {
    await store.clear();
    return count / ((await peer.call("fill", { count, bytes: 56 })) / 1000);
  };
  try {
    const turns = await inTurns(options.pairs, { paihao: turn(paihao), bullmq: turn(bullmq) });
    const figure = compare({
      figure: "submit in bulk",
      against: "BullMQ addBulk, 1,000 a call",
      store: store.mode,
      ours: turns.paihao,
      theirs: turns.bullmq,
      show: perSecond,
      target: { atLeast: 3 },
    });
    return { figure, raw: { store: store.mode, count, tasksPerSecond: turns } };
  } finally {
    await Promise.all([paihao.stop(), bullmq.stop()]);
  }
}
