import { milliseconds } from "./harness/judge.ts";
import { bodyOf } from "./harness/load.ts";
import { openLoop } from "./harness/open-loop.ts";

const RATE = 10_000;

/** Accepts at a fixed rate, each due at its time even if the server does not keep up. */
export const sustained = openLoop({
  name: "sustained",
  title: "10,000 accepts per second for 60 s, open loop",
  seconds: 60,
  quickSeconds: 5,
  load: { connections: 256, warmSeconds: 2, rate: RATE, body: bodyOf(56) },
  against: `${RATE.toLocaleString("en")}/s`,
  async figures(load) {
    const accepted = load.statuses["202"] ?? 0;
    const { p50, p99, p999, max } = load.latency;
    return [
      {
        figure: "sustained accepts, p99 from when each was due",
        ours: `p50 ${milliseconds(p50)}, p99.9 ${milliseconds(p999)}, longest ${milliseconds(max)}`,
        value: p99,
        unit: "ms",
        target: { atMost: 25 },
      },
      {
        figure: "sustained accepts, dropped",
        ours: `${accepted.toLocaleString("en")} accepted`,
        value: load.requests - accepted + load.unanswered,
        unit: "",
        target: { atMost: 0 },
      },
    ];
  },
});
