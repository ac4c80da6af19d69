import type { Bench, BenchOptions, Figure } from "./harness/bench.ts";
import { perSecond } from "./harness/judge.ts";
import type { Peer, PeerCalls } from "./harness/peers.ts";
import { startCallable } from "./harness/rpc.ts";
import { type BenchStore, withEachStore } from "./harness/store.ts";
import { inTurns, median, medianRatio } from "./harness/turns.ts";

/** By concurrency: the number of tasks in a turn, enough for about a second, and how much faster than which peer the target is. */
const LEVELS: readonly {
  concurrency: number;
  tasks: number;
  targets: { readonly [peer in "bullmq" | "bee"]?: number };
}[] = [
  { concurrency: 1, tasks: 6000, targets: { bullmq: 2.5, bee: 1.4 } },
  { concurrency: 10, tasks: 30_000, targets: { bullmq: 2.5, bee: 1.4 } },
  { concurrency: 100, tasks: 60_000, targets: { bullmq: 3, bee: 1.8 } },
];

type PeerName = "paihao" | "bullmq" | "bee";

interface Turn {
  readonly tasksPerSecond: number;
  /** µs of CPU per task, of the worker process and of Redis. */
  readonly micros: number;
  readonly redisMicros: number;
}

/** The worker: no-op tasks in one process. */
export const run: Bench = {
  name: "run",
  title: "Engine: running no-op tasks, one worker process",
  async run(options) {
    const figures = await withEachStore((store) => measure(store, options));
    return { figures: figures.flat() };
  },
};

async function measure(store: BenchStore, options: BenchOptions) {
  const peers: Record<PeerName, Peer> = {
    paihao: startCallable<PeerCalls>("paihao", [store.url, "ph"]),
    bullmq: startCallable<PeerCalls>("bullmq", [String(store.port)]),
    bee: startCallable<PeerCalls>("bee", [String(store.port)]),
  };
  const figures: Figure[] = [];
  try {
    for (const { concurrency, tasks, targets } of LEVELS) {
      options.say(`store: ${store.mode}, concurrency ${concurrency}`);
      const count = Math.round(tasks / (options.quick ? 3 : 1));
      const turn = (peer: Peer) => async (): Promise<Turn> => {
        await store.clear();
        await peer.call("fill", { count, bytes: 56 });
        const [cpu, redisCpu] = [peer.cpuSeconds(), store.cpuSeconds()];
        const tasksPerSecond = count / ((await peer.call("work", { count, concurrency })) / 1000);
        const micros = (seconds: number) => (seconds / count) * 1e6;
        return {
          tasksPerSecond,
          micros: micros(peer.cpuSeconds() - cpu),
          redisMicros: micros(store.cpuSeconds() - redisCpu),
        };
      };
      const turns = await inTurns(options.pairs, {
        paihao: turn(peers.paihao),
        bullmq: turn(peers.bullmq),
        bee: turn(peers.bee),
      });
      const of = (name: PeerName, pick: keyof Turn) => turns[name].map((one) => one[pick]);
      const shown = (name: PeerName) => {
        const [rate, own, redis] = [of(name, "tasksPerSecond"), of(name, "micros"), of(name, "redisMicros")].map(
          median,
        );
        return `${perSecond(rate ?? 0)} (${own?.toFixed(0)} µs of CPU per task, ${redis?.toFixed(0)} in Redis)`;
      };
      for (const [name, against] of [
        ["bullmq", "BullMQ Worker"],
        ["bee", "bee-queue"],
      ] as const) {
        const atLeast = targets[name];
        figures.push({
          figure: `run, concurrency ${concurrency}`,
          against,
          store: store.mode,
          ours: shown("paihao"),
          theirs: shown(name),
          value: medianRatio(of("paihao", "tasksPerSecond"), of(name, "tasksPerSecond")),
          unit: "×",
          target: atLeast === undefined ? null : { atLeast },
        });
      }
    }
  } finally {
    await Promise.all(Object.values(peers).map((peer) => peer.stop()));
  }
  return figures;
}
