import type { Bench, BenchOptions, CpuUse, Figure, Series } from "./harness/bench.ts";
import { perSecond } from "./harness/judge.ts";
import type { Peer, PeerCalls } from "./harness/peers.ts";
import { startCallable } from "./harness/rpc.ts";
import { type BenchStore, withEachStore } from "./harness/store.ts";
import { inTurns, median, medianRatio } from "./harness/turns.ts";

/** The number of tasks in a turn, by concurrency: enough for about a second. */
const TASKS: Readonly<Record<number, number>> = {
  1: 6000,
  4: 20_000,
  10: 30_000,
  50: 60_000,
  100: 60_000,
  200: 60_000,
};
/** The concurrencies in the table, and how much faster than which peer the target is. */
const TARGETS: Readonly<Record<number, { readonly [peer in "bullmq" | "bee"]?: number }>> = {
  1: { bullmq: 1.2 },
  10: {},
  100: { bullmq: 2.5, bee: 1.5 },
};

type PeerName = "paihao" | "bullmq" | "bee";
const NAMES: Readonly<Record<PeerName, string>> = { paihao: "paihao", bullmq: "BullMQ", bee: "bee-queue" };

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
    const all = await withEachStore((store) => measure(store, options));
    return {
      figures: all.flatMap((one) => one.figures),
      series: all[0]?.series ?? [],
      cpu: all[0]?.cpu ?? [],
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
  const cpu: CpuUse[] = [];
  const points: Record<PeerName, { x: number; y: number }[]> = { paihao: [], bullmq: [], bee: [] };
  try {
    for (const concurrency of Object.keys(TASKS).map(Number)) {
      const targets = TARGETS[concurrency];
      // Only the figures of the table are measured in both modes; the rest of the curve is for the plot.
      if (targets === undefined && (options.quick || store.mode !== "no persistence")) continue;
      options.say(`store: ${store.mode}, concurrency ${concurrency}`);
      const count = Math.round((TASKS[concurrency] ?? 0) / (options.quick ? 3 : 1));
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
      const turns = await inTurns(targets === undefined ? Math.min(3, options.pairs) : options.pairs, {
        paihao: turn(peers.paihao),
        bullmq: turn(peers.bullmq),
        bee: turn(peers.bee),
      });
      raw.push({ store: store.mode, concurrency, count, turns });
      const of = (name: PeerName, pick: keyof Turn) => turns[name].map((one) => one[pick]);
      const shown = (name: PeerName) => {
        const [rate, own, redis] = [of(name, "tasksPerSecond"), of(name, "micros"), of(name, "redisMicros")].map(
          median,
        );
        return `${perSecond(rate ?? 0)} (${own?.toFixed(0)} µs of CPU per task, ${redis?.toFixed(0)} in Redis)`;
      };
      for (const name of Object.keys(points) as PeerName[])
        points[name].push({ x: concurrency, y: median(of(name, "tasksPerSecond")) });
      if (targets === undefined) continue;
      for (const name of Object.keys(NAMES) as PeerName[]) {
        const [process, redis] = [median(of(name, "micros")), median(of(name, "redisMicros"))];
        cpu.push({ work: `a task, at concurrency ${concurrency}`, name: NAMES[name], process, redis });
      }
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
  const series: Series[] = Object.entries(points).map(([name, of]) => ({
    plot: "concurrency",
    name: NAMES[name as PeerName],
    unit: "tasks/s",
    points: of,
  }));
  return { figures, series, cpu, raw };
}
