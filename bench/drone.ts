import path from "node:path";
import { ROOT } from "../test/shared/root.ts";
import type { Bench } from "./harness/bench.ts";
import { micros, milliseconds } from "./harness/judge.ts";
import type { LoadPlan } from "./harness/load.ts";
import { type OpenLoop, openLoop } from "./harness/open-loop.ts";

const HANDLERS = path.join(ROOT, "examples/09-drone-delivery/handlers");
const QUEUE = "deliveries";
const ORDER = JSON.stringify({ account: "A217", kg: 1.5, from: "Delft", to: "Gouda" });
const NDJSON = { "Content-Type": "application/x-ndjson" };

/** How orders arrive. */
interface Ingestion {
  /** Its name in the figures. */
  readonly what: string;
  readonly ordersPerSecond: number;
  /** The orders of a batch; without it, each order is a separate request. */
  readonly lines?: number;
  readonly seconds: number;
  readonly quickSeconds: number;
  readonly warmSeconds: number;
  readonly p99AtMostMs: number;
}

const INGESTIONS: readonly Ingestion[] = [
  {
    what: "orders, one per request",
    ...{ ordersPerSecond: 10_000, seconds: 60, quickSeconds: 5, warmSeconds: 2, p99AtMostMs: 25 },
  },
  {
    what: "orders, batches of 20",
    ...{ ordersPerSecond: 10_000, lines: 20, seconds: 60, quickSeconds: 5, warmSeconds: 2, p99AtMostMs: 25 },
  },
  {
    what: "a spike of orders, batches of 500",
    ...{ ordersPerSecond: 50_000, lines: 500, seconds: 10, quickSeconds: 3, warmSeconds: 0, p99AtMostMs: 200 },
  },
];

/**
 * What the queue of examples/09-drone-delivery accepts: 10,000 orders per second for a minute, and 50,000 per second for ten
 * seconds.
 */
export const drone: Bench = {
  name: "drone",
  title: "Orders for the drone delivery: 10,000 a second for 60 s, and 50,000 a second for 10 s",
  async run(options) {
    const parts = [];
    for (const ingestion of INGESTIONS) parts.push(await openLoop(loopOf(ingestion)).run(options));
    return { figures: parts.flatMap(({ figures }) => figures), raw: parts.map(({ raw }) => raw) };
  },
};

function loopOf({
  what,
  ordersPerSecond,
  lines = 1,
  seconds,
  quickSeconds,
  warmSeconds,
  p99AtMostMs,
}: Ingestion): OpenLoop {
  const inBatches: Partial<LoadPlan> = {
    connections: 64,
    path: `/v1/queues/${QUEUE}/batches`,
    headers: NDJSON,
    body: `${ORDER}\n`.repeat(lines),
  };
  const singly: Partial<LoadPlan> = { connections: 256, path: `/v1/queues/${QUEUE}/requests`, body: ORDER };
  return {
    ...{ name: "drone", title: what, seconds, quickSeconds, env: { HANDLERS } },
    load: { ...(lines === 1 ? singly : inBatches), warmSeconds, rate: ordersPerSecond / lines },
    against: `${ordersPerSecond.toLocaleString("en")}/s`,
    async figures(load, store, { serverMicros, storeMicros }) {
      const sent = load.sent * lines;
      const kept = await store.redis.zcard(`{ph:0}w:${QUEUE}`);
      const refused = load.requests - (load.statuses["202"] ?? 0) + load.problems;
      const { p50, p99, p999, max } = load.latency;
      return [
        {
          figure: `${what}, CPU of the server per order`,
          ours: `and ${micros(storeMicros / lines)} of Redis`,
          ...{ value: serverMicros / lines, unit: "µs", target: null },
        },
        {
          figure: `${what}, p99 from when each request was due`,
          ours: `p50 ${milliseconds(p50)}, p99.9 ${milliseconds(p999)}, longest ${milliseconds(max)}`,
          ...{ value: p99, unit: "ms", target: { atMost: p99AtMostMs } },
        },
        {
          figure: `${what}, refused or without an answer`,
          ours: `${load.requests.toLocaleString("en")} requests`,
          ...{ value: refused + load.unanswered, unit: "", target: { atMost: 0 } },
        },
        {
          figure: `${what}, lost`,
          ours: `${kept.toLocaleString("en")} of ${sent.toLocaleString("en")} orders in the store`,
          ...{ value: Math.abs(sent - kept), unit: "", target: { atMost: 0 } },
        },
      ];
    },
  };
}
