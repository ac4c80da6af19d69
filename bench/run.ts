import type { Bench, BenchOptions, Figure, Series } from "./harness/bench.ts";
import { compare, perSecond } from "./harness/judge.ts";
import type { Peer, PeerCalls } from "./harness/peers.ts";
import { startCallable } from "./harness/rpc.ts";
import { type BenchStore, withEachStore } from "./harness/store.ts";
import { inTurns, median } from "./harness/turns.ts";

/** Tasks of a turn by concurrency: enough to take a second or so. */
const TASKS: Readonly<Record<number, number>> = {
  1: 6000,
  4: 20_000,
  16: 40_000,
  50: 60_000,
  100: 60_000,
  200: 60_000,
};
/** The concurrencies with a target, and how much faster than each peer is wanted. */
const TARGETS: Readonly<Record<number, number>> = { 1: 1.5, 100: 2.5 };

type PeerName = "paihao" | "bullmq" | "bee";

/** The worker: no-op tasks in one process. */
export const run: Bench = {
  name: "run",
  title: "Engine: running no-op tasks, one worker process",
  async run(options) {
    const all = await withEachStore((store) => measure(store, options));
    return {
      figures: all.flatMap((one) => one.figures),
      series: all[0]?.series ?? [],
      raw: all.map((one) => one.raw),
    };
  },
};

async function measure(store: BenchStore, options: BenchOptions) {
  const peers: Record<PeerName, Peer> = {
    paihao: startCallable<PeerCalls>("paihao", [store.url, "ph"]),
    bullmq: startCallable<PeerCalls>("bullmq", [String(store.port)]),
    bee: startCallable<PeerCalls>("bee", [String(store.port)]),
  };
  const figures: Figure[] = [];
  const raw: unknown[] = [];
  const points: Record<PeerName, { x: number; y: number }[]> = { paihao: [], bullmq: [], bee: [] };
  try {
    for (const concurrency of Object.keys(TASKS).map(Number)) {
      const target = TARGETS[concurrency];
      // Only the figures of the table are taken twice; the curve between them is for the plot.
      if (target === undefined && (options.quick || store.mode !== "no persistence")) continue;
      options.say(`store: ${store.mode}, concurrency ${concurrency}`);
      const count = Math.round((TASKS[concurrency] ?? 0) / (options.quick ? 3 : 1));
      const turn = (peer: Peer) => async () => {
        await store.clear();
        await peer.call("fill", { count, bytes: 56 });
        return count / ((await peer.call("work", { count, concurrency })) / 1000);
      };
      const turns = await inTurns(target === undefined ? Math.min(3, options.pairs) : options.pairs, {
        paihao: turn(peers.paihao),
        bullmq: turn(peers.bullmq),
        bee: turn(peers.bee),
      });
      raw.push({ store: store.mode, concurrency, count, tasksPerSecond: turns });
      for (const name of Object.keys(points) as PeerName[])
        points[name].push({ x: concurrency, y: median(turns[name]) });
      if (target === undefined) continue;
      for (const [name, against] of [
        ["bullmq", "BullMQ Worker"],
        ["bee", "bee-queue"],
      ] as const) {
        figures.push(
          compare({
            figure: `run, concurrency ${concurrency}`,
            against,
            store: store.mode,
            ours: turns.paihao,
            theirs: turns[name],
            show: perSecond,
            target: { atLeast: target },
          }),
        );
      }
    }
  } finally {
    await Promise.all(Object.values(peers).map((peer) => peer.stop()));
  }
  const series: Series[] = Object.entries(points).map(([name, of]) => ({
    plot: "concurrency",
    name,
    unit: "tasks/s",
    points: of,
  }));
  return { figures, series, raw };
}
