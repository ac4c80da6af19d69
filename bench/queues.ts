import type { Bench, Figure } from "./harness/bench.ts";
import { startCallable } from "./harness/rpc.ts";
import { openStore } from "./harness/store.ts";
import type { QueuesCalls } from "./subjects/queues.ts";

/** How many queues, and for how long a request may hold the process, ms. */
const LIMITS = [
  [300, 50],
  [3000, 300],
] as const;
const PATHS = ["/openapi.json", "/metrics", "/v1/queues", "/v1/workers", "/v1/history"] as const;

/** For how long any one request holds a process that has many queues. */
export const queues: Bench = {
  name: "queues",
  title: "The longest block of the event loop by any one request, with 300 and 3,000 queues",
  async run({ say }) {
    const figures: Figure[] = [];
    for (const [count, most] of LIMITS) {
      const store = await openStore("no persistence");
      const server = startCallable<QueuesCalls>("queues", [store.url, String(count)]);
      try {
        await server.call("start", undefined);
        let value = 0;
        for (const path of PATHS) {
          const { longestMs, tookMs, status } = await server.call("block", path);
          say(`${count} queues, ${path}: ${status}, blocked ${longestMs.toFixed(0)} ms of ${tookMs.toFixed(0)} ms`);
          if (status !== 200) throw new Error(`${path} is answered with ${status}`);
          value = Math.max(value, longestMs);
        }
        figures.push({
          ...{
            figure: `longest block by a request, ${count} queues`,
            against: "–",
            store: "no persistence",
            theirs: "",
          },
          ...{ value, unit: "ms", target: { atMost: most }, ours: `${value.toFixed(0)} ms` },
        });
      } finally {
        await server.stop();
        await store.stop();
      }
    }
    return { figures };
  },
};
