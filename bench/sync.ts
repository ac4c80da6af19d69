import type { Bench, BenchOptions } from "./harness/bench.ts";
import { milliseconds } from "./harness/judge.ts";
import { bodyOf, makeLoad } from "./harness/load.ts";
import { startPaihao, startServerSubject } from "./harness/process.ts";
import { type BenchStore, withEachStore } from "./harness/store.ts";
import { inTurns, median } from "./harness/turns.ts";

/** What the way through the line and Redis costs a single caller. */
export const sync: Bench = {
  name: "sync",
  title: "Synchronous round trip of a no-op, one client",
  async run(options) {
    return { figures: await withEachStore((store) => measure(store, options)) };
  },
};

async function measure(store: BenchStore, options: BenchOptions) {
  options.say(`store: ${store.mode}`);
  const direct = await startServerSubject("echo", ["direct"]);
  const paihao = await startPaihao({ REDIS_URL: store.url, ROLE: "all" });
  const turn = (port: number) => async () => {
    const headers = { "Content-Type": "application/json" };
    const load = await makeLoad({ port, connections: 1, seconds: options.quick ? 1 : 4, headers, body: bodyOf(56) });
    if (load.statuses["200"] !== load.requests) throw new Error(`not all done: ${JSON.stringify(load.statuses)}`);
    return load.latency.p50;
  };
  try {
    const turns = await inTurns(options.pairs, { direct: turn(direct.port), paihao: turn(paihao.port) });
    const [ours, theirs] = [median(turns.paihao), median(turns.direct)];
    return {
      figure: "sync round trip, p50 above a direct call",
      against: "the handler called behind Koa",
      store: store.mode,
      ours: milliseconds(ours),
      theirs: milliseconds(theirs),
      value: median(turns.paihao.map((value, i) => value - (turns.direct[i] ?? Number.NaN))),
      unit: "ms",
      target: { atMost: 0.5 },
    } as const;
  } finally {
    await Promise.all([direct.stop(), paihao.stop()]);
  }
}
