import type { Bench, Figure } from "./harness/bench.ts";
import { milliseconds } from "./harness/judge.ts";
import { bodyOf, makeLoad } from "./harness/load.ts";
import { startPaihao } from "./harness/process.ts";
import { type BenchStore, withEachStore } from "./harness/store.ts";

const TASKS_PER_SECOND = 50_000;
const LINES = 500;

/** A spike through batches: many callers hand in many tasks at once. */
export const spike: Bench = {
  name: "spike",
  title: "A spike of 50,000 tasks a second for 10 s, in batches of 500",
  async run(options) {
    const all = await withEachStore(async (store) => {
      options.say(`store: ${store.mode}`);
      return measure(store, options.quick ? 3 : 10);
    });
    return { figures: all.flatMap((one) => one.figures), raw: all.map((one) => one.raw) };
  },
};

async function measure(store: BenchStore, seconds: number) {
  const server = await startPaihao({ REDIS_URL: store.url, ROLE: "api", MAX_WAITING: "100000000" });
  try {
    const load = await makeLoad({
      port: server.port,
      connections: 64,
      seconds,
      warmSeconds: 0,
      rate: TASKS_PER_SECOND / LINES,
      path: "/v1/queues/default/batches",
      headers: { "Content-Type": "application/x-ndjson" },
      body: `${bodyOf(56)}\n`.repeat(LINES),
    });
    if (load.statuses["202"] !== load.requests) throw new Error(`not accepted: ${JSON.stringify(load.statuses)}`);
    const sent = (load.requests + load.unanswered) * LINES;
    const waiting = await store.redis.zcard("{ph:0}w:default");
    const common = {
      against: `${TASKS_PER_SECOND.toLocaleString("en")} tasks/s for ${seconds} s`,
      store: store.mode,
      theirs: "",
    };
    const figures: Figure[] = [
      {
        ...common,
        figure: "spike, p99 of a batch from when it was due",
        ours: `p50 ${milliseconds(load.latency.p50)}, longest ${milliseconds(load.latency.max)}`,
        value: load.latency.p99,
        unit: "ms",
        target: { atMost: 500 },
      },
      {
        ...common,
        figure: "spike, tasks lost",
        ours: `${waiting.toLocaleString("en")} of ${sent.toLocaleString("en")} wait; ${load.problems} batches with a problem`,
        value: sent - waiting,
        unit: "",
        target: { atMost: 0 },
      },
    ];
    return { figures, raw: { store: store.mode, waiting, load } };
  } finally {
    await server.stop();
  }
}
