import type { Bench, BenchOptions, Figure } from "./harness/bench.ts";
import { bodyOf, type Load, makeLoad } from "./harness/load.ts";
import { type ServerSubject, startPaihao, startServerSubject } from "./harness/process.ts";
import { type BenchStore, withEachStore } from "./harness/store.ts";
import { inTurns, median, medianRatio } from "./harness/turns.ts";

/** As long as the inputs that other figures are about. */
const BODY = bodyOf(56);

interface Turn {
  readonly perSecond: number;
  /** µs of the server's own CPU for a request; less disturbed by others than the rate. */
  readonly serverMicros: number;
  /** µs of Redis's CPU for a request. */
  readonly redisMicros: number;
  readonly load: Load;
}

/** HTTP accept: POST with respond-async on 64 connections, closed loop. */
export const accept: Bench = {
  name: "accept",
  title: "HTTP accept: POST, respond-async, 64 connections",
  async run(options) {
    const all = await withEachStore((store) => measure(store, options));
    return { figures: all.flatMap((one) => one.figures), raw: all.map((one) => one.raw) };
  },
};

async function measure(store: BenchStore, options: BenchOptions) {
  options.say(`store: ${store.mode}`);
  const echo = await startServerSubject("echo");
  const bullmq = await startServerSubject("koa-bullmq", [String(store.port)]);
  const paihao = await startPaihao({ REDIS_URL: store.url, ROLE: "api" });
  try {
    const turn = (server: ServerSubject) => () => oneTurn(server, store, options.quick ? 2 : 6);
    const turns = await inTurns(options.pairs, {
      echo: turn(echo),
      paihao: turn(paihao),
      bullmq: turn(bullmq),
    });
    return { figures: figuresOf(turns, store.mode), raw: { mode: store.mode, turns } };
  } finally {
    await Promise.all([echo.stop(), bullmq.stop(), paihao.stop()]);
  }
}

async function oneTurn(server: ServerSubject, store: BenchStore, seconds: number): Promise<Turn> {
  await store.clear();
  const [serverCpu, redisCpu] = [server.cpuSeconds(), store.cpuSeconds()];
  const load = await makeLoad({ port: server.port, seconds, body: BODY, warmSeconds: 0.5 });
  if (load.statuses["202"] !== load.requests) throw new Error(`not all accepted: ${JSON.stringify(load.statuses)}`);
  // The warm-up's share of the CPU belongs to its requests.
  const requests = load.perSecond * (load.seconds + 0.5);
  return {
    perSecond: load.perSecond,
    serverMicros: ((server.cpuSeconds() - serverCpu) / requests) * 1e6,
    redisMicros: ((store.cpuSeconds() - redisCpu) / requests) * 1e6,
    load,
  };
}

function figuresOf(turns: Record<"echo" | "paihao" | "bullmq", Turn[]>, store: string): Figure[] {
  const rates = (name: keyof typeof turns) => turns[name].map((turn) => turn.perSecond);
  const shown = (name: keyof typeof turns) => {
    const { load } = turns[name][0] ?? {};
    const cpu = median(turns[name].map((turn) => turn.serverMicros));
    return `${Math.round(median(rates(name)))}/s (${Math.round(cpu)} µs of CPU, p99 ${load?.latency.p99.toFixed(1)} ms)`;
  };
  const against = (name: "echo" | "bullmq", words: string, atLeast: number): Figure => ({
    figure: "HTTP accept",
    against: words,
    store,
    ours: shown("paihao"),
    theirs: shown(name),
    value: medianRatio(rates("paihao"), rates(name)),
    unit: "×",
    target: { atLeast },
  });
  return [
    against("echo", "bare Koa echo (router, cls-rtracer, raw-body), no Redis", 1),
    against("bullmq", "Koa + BullMQ queue.add", 1.5),
  ];
}
