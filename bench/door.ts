import http from "node:http";
import net, { type AddressInfo } from "node:net";
import path from "node:path";
import { ROOT } from "../test/shared/root.ts";
import type { Bench, BenchOptions, Figure } from "./harness/bench.ts";
import { milliseconds } from "./harness/judge.ts";
import { bodyOf, makeLoad } from "./harness/load.ts";
import { type ServerSubject, startPaihao, startServerSubject } from "./harness/process.ts";
import { type BenchStore, withEachStore } from "./harness/store.ts";
import { inTurns, median, medianRatio, percentile } from "./harness/turns.ts";

/** Callers at once where the CPU is measured; there is a slot for each. */
const CALLERS = 32;
/** Streams at once, each of a hundred tokens a second. */
const STREAMS = 50;
const PROXY = "http-proxy-3, which keeps connections";

/** What a line in front of an API costs those who need not wait. */
export const door: Bench = {
  name: "door",
  title: "A door before an API, beside a proxy",
  async run(options) {
    const figures = await withEachStore((store) => measure(store, options));
    return {
      figures: figures.flat(),
      notes: [
        "The same API behind both, in a process of its own. A request is a POST of 56 bytes. CPU is that of the process of the proxy or the server; Redis is not in it.",
        `${STREAMS} streams of 100 tokens a second each; a token's time is from when the API writes it until the caller has it.`,
      ],
    };
  },
};

interface Turn {
  readonly p50: number;
  /** Of the process, for each request, µs. */
  readonly cpu: number;
  readonly token99: number;
}

async function measure(store: BenchStore, options: BenchOptions): Promise<Figure[]> {
  options.say(`store: ${store.mode}`);
  const api = await startServerSubject("api");
  const proxy = await startServerSubject("proxy", [String(api.port)]);
  const port = await freePort();
  const server = await startPaihao({
    REDIS_URL: store.url,
    HANDLERS: path.join(ROOT, "bench/handlers/door"),
    BENCH_API_PORT: String(api.port),
    BENCH_DOOR_PORT: String(port),
  });
  try {
    const turns = await inTurns(options.pairs, {
      direct: () => turn(api, api.port, options),
      proxy: () => turn(proxy, proxy.port, options),
      door: () => turn(server, port, options),
    });
    const of = (name: keyof typeof turns, figure: keyof Turn) => turns[name].map((one) => one[figure]);
    const against = { against: PROXY, store: store.mode } as const;
    const more = (name: keyof typeof turns, figure: keyof Turn) =>
      median(of("door", figure).map((value, n) => value - (of(name, figure)[n] ?? Number.NaN)));
    return [
      {
        ...{ figure: "a request that need not wait, p50 above the proxy's", ...against },
        ...{ ours: milliseconds(median(of("door", "p50"))), theirs: milliseconds(median(of("proxy", "p50"))) },
        ...{ value: more("proxy", "p50"), unit: "ms", target: { atMost: 1 } },
      },
      {
        ...{ figure: "CPU of the process for a request", ...against },
        ...{
          ours: `${median(of("door", "cpu")).toFixed(0)} µs`,
          theirs: `${median(of("proxy", "cpu")).toFixed(0)} µs`,
        },
        ...{ value: medianRatio(of("door", "cpu"), of("proxy", "cpu")), unit: "×", target: { atMost: 2.5 } },
      },
      {
        ...{ figure: "a token of a stream, p99 above the API itself", against: "the API itself", store: store.mode },
        ...{ ours: milliseconds(median(of("door", "token99"))), theirs: milliseconds(median(of("direct", "token99"))) },
        ...{ value: more("direct", "token99"), unit: "ms", target: { atMost: 5 } },
      },
    ];
  } finally {
    await Promise.all([api.stop(), proxy.stop(), server.stop()]);
  }
}

async function turn(subject: ServerSubject, port: number, { quick }: BenchOptions): Promise<Turn> {
  const plan = { port, path: "/v1/work", headers: { "Content-Type": "application/json" }, body: bodyOf(56) };
  const alone = await makeLoad({ ...plan, connections: 1, seconds: quick ? 1 : 3 });
  const before = subject.cpuSeconds();
  const many = await makeLoad({ ...plan, connections: CALLERS, seconds: quick ? 2 : 5 });
  const cpu = (1_000_000 * (subject.cpuSeconds() - before)) / many.sent;
  for (const { statuses, requests } of [alone, many]) {
    if (statuses["200"] !== requests) throw new Error(`not all answered: ${JSON.stringify(statuses)}`);
  }
  const streams = await Promise.all(Array.from({ length: STREAMS }, () => tokens(port)));
  return { p50: alone.latency.p50, cpu, token99: percentile(streams.flat(), 0.99) };
}

/** Follows a stream; how long each token was on its way, ms. */
function tokens(port: number): Promise<number[]> {
  return new Promise((resolve, reject) => {
    const sent = http.get({ port, path: "/stream", agent: false }, (response) => {
      const took: number[] = [];
      let rest = "";
      response.setEncoding("utf8").on("data", (chunk: string) => {
        const now = process.hrtime.bigint();
        const parts = (rest + chunk).split("\n\n");
        rest = parts.pop() ?? "";
        for (const part of parts) took.push(Number(now - BigInt(part.replace("data: ", ""))) / 1_000_000);
      });
      response.on("end", () => resolve(took)).on("error", reject);
    });
    sent.on("error", reject);
  });
}

/** A port that is free now. */
function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = net.createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}
