import { milliseconds } from "./harness/judge.ts";
import { bodyOf } from "./harness/load.ts";
import { openLoop } from "./harness/open-loop.ts";

const TASKS_PER_SECOND = 50_000;
const LINES = 500;

/** A spike through batches: many callers submit many tasks at once. */
export const spike = openLoop({
  name: "spike",
  title: "A spike of 50,000 tasks per second for 10 s, in batches of 500",
  seconds: 10,
  quickSeconds: 3,
  load: {
    connections: 64,
    warmSeconds: 0,
    rate: TASKS_PER_SECOND / LINES,
    path: "/v1/queues/default/batches",
    headers: { "Content-Type": "application/x-ndjson" },
    body: `${bodyOf(56)}\n`.repeat(LINES),
  },
  against: `${TASKS_PER_SECOND.toLocaleString("en")} tasks/s`,
  async figures(load, store) {
    if (load.statuses["202"] !== load.requests) throw new Error(`not accepted: ${JSON.stringify(load.statuses)}`);
    const sent = (load.requests + load.unanswered) * LINES;
    const waiting = await store.redis.zcard("{ph:0}w:default");
    return [
      {
        figure: "spike, p99 of a batch from when it was due",
        ours: `p50 ${milliseconds(load.latency.p50)}, longest ${milliseconds(load.latency.max)}`,
        value: load.latency.p99,
        unit: "ms",
        target: { atMost: 200 },
      },
      {
        figure: "spike, tasks lost",
        ours: `${waiting.toLocaleString("en")} of ${sent.toLocaleString("en")} wait; ${load.problems} batches with a problem`,
        value: sent - waiting,
        unit: "",
        target: { atMost: 0 },
      },
    ];
  },
});
