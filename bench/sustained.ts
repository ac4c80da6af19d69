import type { Bench, Figure } from "./harness/bench.ts";
import { milliseconds } from "./harness/judge.ts";
import { bodyOf, makeLoad } from "./harness/load.ts";
import { startPaihao } from "./harness/process.ts";
import { type BenchStore, withEachStore } from "./harness/store.ts";

const RATE = 10_000;

/** Accepts at a fixed rate, each due at its time whether or not the server keeps up. */
export const sustained: Bench = {
  name: "sustained",
  title: "10,000 accepts a second for 60 s, open loop",
  async run(options) {
    const all = await withEachStore(async (store) => {
      options.say(`store: ${store.mode}`);
      return measure(store, options.quick ? 5 : 60);
    });
    return { figures: all.flatMap((one) => one.figures), raw: all.map((one) => one.raw) };
  },
};

async function measure(store: BenchStore, seconds: number) {
  const server = await startPaihao({ REDIS_URL: store.url, ROLE: "api", MAX_WAITING: "100000000" });
  try {
    const load = await makeLoad({
      port: server.port,
      connections: 256,
      seconds,
      warmSeconds: 2,
      rate: RATE,
      body: bodyOf(56),
    });
    const accepted = load.statuses["202"] ?? 0;
    const { p50, p99, p999, max } = load.latency;
    const common = { against: `${RATE.toLocaleString("en")}/s for ${seconds} s`, store: store.mode, theirs: "" };
    const figures: Figure[] = [
      {
        ...common,
        figure: "sustained accepts, p99 from when each was due",
        ours: `p50 ${milliseconds(p50)}, p99.9 ${milliseconds(p999)}, longest ${milliseconds(max)}`,
        value: p99,
        unit: "ms",
        target: { atMost: 50 },
      },
      {
        ...common,
        figure: "sustained accepts, dropped",
        ours: `${accepted.toLocaleString("en")} accepted`,
        value: load.requests - accepted + load.unanswered,
        unit: "",
        target: { atMost: 0 },
      },
    ];
    return { figures, raw: { store: store.mode, load } };
  } finally {
    await server.stop();
  }
}
