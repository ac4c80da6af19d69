import type { Bench, BenchOptions, Figure } from "./harness/bench.ts";
import { makeLoad } from "./harness/load.ts";
import { startPaihao } from "./harness/process.ts";
import { startCallable } from "./harness/rpc.ts";
import { type BenchStore, withStore } from "./harness/store.ts";
import { inTurns, median, medianRatio } from "./harness/turns.ts";
import type { PaihaoCalls } from "./subjects/paihao.ts";

const BASE = 1000;
const DEPTHS = { quick: [BASE, 100_000], full: [BASE, 10_000, 100_000, 1_000_000] } as const;
const MAX = 1_000_000;

interface Turn {
  readonly perSecond: number;
  /** µs of CPU of the server and of Redis per read. */
  readonly micros: number;
  readonly redisMicros: number;
}

/** What reading one's place costs as the line grows. */
export const depth: Bench = {
  name: "depth",
  title: "GET of a pending task with its index, by depth of the line",
  run: (options) => withStore("no persistence", (store) => measure(store, options)),
};

async function measure(store: BenchStore, options: BenchOptions) {
  const depths = options.quick ? DEPTHS.quick : DEPTHS.full;
  const servers: Record<string, Awaited<ReturnType<typeof startPaihao>>> = {};
  try {
    for (const waiting of depths) {
      options.say(`filling a line of ${waiting.toLocaleString("en")}`);
      const prefix = `d${waiting}`;
      const filler = startCallable<PaihaoCalls>("paihao", [store.url, prefix]);
      await filler.call("fillKnown", { count: waiting, bytes: 56, from: 0 });
      await filler.stop();
      servers[waiting] = await startPaihao({ REDIS_URL: store.url, ROLE: "api", KEY_PREFIX: prefix });
    }
    const turn = (waiting: string) => async (): Promise<Turn> => {
      const server = servers[waiting];
      if (!server) throw new Error("no server");
      const [server0, redis0] = [server.cpuSeconds(), store.cpuSeconds()];
      const load = await makeLoad({
        port: server.port,
        seconds: options.quick ? 1.5 : 5,
        method: "GET",
        path: "/v1/requests/{id}",
        ids: Number(waiting),
        headers: {},
      });
      if (load.statuses["404"] !== load.requests) throw new Error(`not pending: ${JSON.stringify(load.statuses)}`);
      const requests = load.perSecond * (load.seconds + 0.5);
      const redisMicros = ((store.cpuSeconds() - redis0) / requests) * 1e6;
      return {
        perSecond: load.perSecond,
        redisMicros,
        micros: ((server.cpuSeconds() - server0) / requests) * 1e6 + redisMicros,
      };
    };
    const turns = await inTurns(options.pairs, Object.fromEntries(depths.map((d) => [d, turn(String(d))])));
    const base = turns[BASE] ?? [];
    const deepest = Math.max(...depths);
    const micros = (of: readonly Turn[]) => of.map((t) => t.micros);
    const figure: Figure = {
      figure: `index read, ${deepest.toLocaleString("en")} waiting${deepest < MAX ? " (quick)" : ""}`,
      against: `${BASE.toLocaleString("en")} waiting`,
      store: store.mode,
      ours: shown(turns[deepest] ?? []),
      theirs: shown(base),
      value: medianRatio(micros(turns[deepest] ?? []), micros(base)),
      unit: "×",
      target: { atMost: 1.15 },
    };
    return { figures: [figure] };
  } finally {
    await Promise.all(Object.values(servers).map((server) => server.stop()));
  }
}

function shown(turns: readonly Turn[]): string {
  const micros = median(turns.map((t) => t.micros));
  const redis = median(turns.map((t) => t.redisMicros));
  return `${micros.toFixed(1)} µs of CPU, ${redis.toFixed(1)} of them in Redis; ${Math.round(median(turns.map((t) => t.perSecond)))}/s`;
}
