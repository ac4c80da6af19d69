import type { Bench, BenchOptions, Figure } from "./harness/bench.ts";
import { compare, micros, perSecond } from "./harness/judge.ts";
import { bodyOf, makeLoad } from "./harness/load.ts";
import { type ServerSubject, startPaihao, startServerSubject } from "./harness/process.ts";
import { type BenchStore, withEachStore } from "./harness/store.ts";
import { inTurns } from "./harness/turns.ts";

/** How many tasks run at once in either server: paihao's default. */
const CONCURRENCY = "8";
const AGAINST = "Koa + BullMQ add, waitUntilFinished, worker in the same process";

interface Turn {
  readonly perSecond: number;
  readonly p99Ms: number;
  /** µs of CPU for a request: of the server's process, and of Redis. */
  readonly serverMicros: number;
  readonly redisMicros: number;
}

/** Synchronous requests: POST without Prefer on 64 connections, closed loop, answered by one process that also runs the tasks. */
export const syncLoad: Bench = {
  name: "sync-load",
  title: "Synchronous requests: POST, a no-op, 64 connections, one process",
  async run(options) {
    const figures = await withEachStore((store) => measure(store, options));
    return { figures: figures.flat() };
  },
};

async function measure(store: BenchStore, options: BenchOptions) {
  options.say(`store: ${store.mode}`);
  const bullmq = await startServerSubject("koa-bullmq-sync", [String(store.port), CONCURRENCY]);
  // No warnings: at the end of a turn callers are cut off on purpose.
  const paihao = await startPaihao({ REDIS_URL: store.url, ROLE: "all", CONCURRENCY, LOG_LEVEL: "error" });
  try {
    const turn = (server: ServerSubject) => () => oneTurn(server, store, options.quick ? 2 : 6);
    const turns = await inTurns(options.pairs, { paihao: turn(paihao), bullmq: turn(bullmq) });
    return figuresOf(turns, store.mode);
  } finally {
    await Promise.all([bullmq.stop(), paihao.stop()]);
  }
}

async function oneTurn(server: ServerSubject, store: BenchStore, seconds: number): Promise<Turn> {
  const [serverCpu, redisCpu] = [server.cpuSeconds(), store.cpuSeconds()];
  const headers = { "Content-Type": "application/json" };
  const load = await makeLoad({ port: server.port, seconds, headers, body: bodyOf(56), warmSeconds: 0.5 });
  if (load.statuses["200"] !== load.requests) throw new Error(`not all done: ${JSON.stringify(load.statuses)}`);
  // The warm-up's share of the CPU belongs to its requests.
  const requests = load.perSecond * (load.seconds + 0.5);
  return {
    perSecond: load.perSecond,
    p99Ms: load.latency.p99,
    serverMicros: ((server.cpuSeconds() - serverCpu) / requests) * 1e6,
    redisMicros: ((store.cpuSeconds() - redisCpu) / requests) * 1e6,
  };
}

function figuresOf(turns: Record<"paihao" | "bullmq", Turn[]>, store: string): Figure[] {
  const pick = (of: (turn: Turn) => number) => ({ ours: turns.paihao.map(of), theirs: turns.bullmq.map(of) });
  const common = { against: AGAINST, store };
  const told = { ...common, show: micros, target: null };
  return [
    compare({
      ...{ ...common, figure: "synchronous requests", show: perSecond, target: { atLeast: 5 } },
      ...pick((turn) => turn.perSecond),
    }),
    compare({ ...told, figure: "the same: CPU of the server per request", ...pick((turn) => turn.serverMicros) }),
    compare({ ...told, figure: "the same: CPU of Redis per request", ...pick((turn) => turn.redisMicros) }),
    compare({
      ...told,
      figure: "the same: CPU of both per request",
      ...pick((turn) => turn.serverMicros + turn.redisMicros),
    }),
  ];
}
