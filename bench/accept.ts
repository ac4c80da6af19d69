import type { Bench, BenchOptions, Figure } from "./harness/bench.ts";
import { compare, micros, milliseconds, perSecond } from "./harness/judge.ts";
import { bodyOf, type Load, makeLoad } from "./harness/load.ts";
import { type ServerSubject, startPaihao, startServerSubject } from "./harness/process.ts";
import { type BenchStore, withEachStore } from "./harness/store.ts";
import { inTurns } from "./harness/turns.ts";

/** The size of the inputs, the same as in other benchmarks. */
export const BODY = bodyOf(56);
/** How long a server is under load before the first turn: until then it compiles its code. */
export const COMPILE_SECONDS = 4;
/** How long each turn's load runs before it is measured. */
const WARM_SECONDS = 0.5;

interface Turn {
  readonly perSecond: number;
  /** µs of the server's own CPU per request, which other processes disturb less than the rate. */
  readonly serverMicros: number;
  /** µs of Redis's CPU per request. */
  readonly redisMicros: number;
  readonly load: Load;
}

/** An accept may cost this many times what the echo does: on Node 20 each promise also pays for the context of its request. */
const MOST_OF_ECHO = Number(process.versions.node.split(".")[0]) < 24 ? 1.2 : 1.1;

/** HTTP accept: POST with respond-async on 64 connections, closed loop. */
export const accept: Bench = {
  name: "accept",
  title: "HTTP accept: POST, respond-async, 64 connections",
  async run(options) {
    const figures = await withEachStore((store) => measure(store, options));
    return { figures: figures.flat() };
  },
};

async function measure(store: BenchStore, options: BenchOptions) {
  options.say(`store: ${store.mode}`);
  const echo = await startServerSubject("echo");
  const bullmq = await startServerSubject("koa-bullmq", [String(store.port)]);
  const paihao = await startPaihao({ REDIS_URL: store.url, ROLE: "api" });
  try {
    for (const { port } of [echo, paihao, bullmq]) await makeLoad({ port, seconds: COMPILE_SECONDS, body: BODY });
    const turn = (server: ServerSubject) => () => oneTurn(server, store, options.quick ? 2 : 6);
    const turns = await inTurns(options.pairs, {
      echo: turn(echo),
      paihao: turn(paihao),
      bullmq: turn(bullmq),
    });
    return figuresOf(turns, store.mode);
  } finally {
    await Promise.all([echo.stop(), bullmq.stop(), paihao.stop()]);
  }
}

/** Clears the store and puts a server under load. */
export async function oneTurn(server: ServerSubject, store: BenchStore, seconds: number): Promise<Turn> {
  await store.clear();
  const [serverCpu, redisCpu] = [server.cpuSeconds(), store.cpuSeconds()];
  const load = await makeLoad({ port: server.port, seconds, body: BODY, warmSeconds: WARM_SECONDS });
  if (load.statuses["202"] !== load.requests) throw new Error(`not all accepted: ${JSON.stringify(load.statuses)}`);
  // The warm-up's share of the CPU belongs to its requests.
  const requests = load.perSecond * (load.seconds + WARM_SECONDS);
  return {
    perSecond: load.perSecond,
    serverMicros: ((server.cpuSeconds() - serverCpu) / requests) * 1e6,
    redisMicros: ((store.cpuSeconds() - redisCpu) / requests) * 1e6,
    load,
  };
}

function figuresOf(turns: Record<"echo" | "paihao" | "bullmq", Turn[]>, store: string): Figure[] {
  const against = (name: "echo" | "bullmq", pick: (turn: Turn) => number) => ({
    against: name === "echo" ? "bare Koa echo (router, cls-rtracer, raw-body), no Redis" : "Koa + BullMQ queue.add",
    store,
    ours: turns.paihao.map(pick),
    theirs: turns[name].map(pick),
  });
  const cpu = { figure: "HTTP accept: CPU of the server per request", show: micros };
  const rate = { figure: "HTTP accept: rate", show: perSecond };
  const p99 = { figure: "HTTP accept: p99", show: milliseconds, target: null };
  return [
    compare({ ...cpu, ...against("echo", (turn) => turn.serverMicros), target: { atMost: MOST_OF_ECHO } }),
    compare({ ...rate, ...against("echo", (turn) => turn.perSecond), target: null }),
    compare({ ...p99, ...against("echo", (turn) => turn.load.latency.p99) }),
    compare({ ...cpu, ...against("bullmq", (turn) => turn.serverMicros), target: null }),
    compare({ ...rate, ...against("bullmq", (turn) => turn.perSecond), target: { atLeast: 1.6 } }),
    compare({
      ...against("bullmq", (turn) => turn.redisMicros),
      ...{ figure: "HTTP accept: CPU of Redis per request", show: micros, target: null },
    }),
  ];
}
