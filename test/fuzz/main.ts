/**
 * `npm run fuzz -- [--requests N] [--seed N]`: the long form of test/http/fuzz.test.ts. It sends generated requests over every
 * route, and raw bytes that are none, to a server in a process of its own with a heap of 256 MB and a gateway to a hostile API, and holds every answer against the description of the API and the catalogue of problems.
 */

import { parseArgs } from "node:util";
import { longRun, seedOf, stopwatch } from "../helpers/long-run.ts";
import { publishStores } from "../helpers/store/run-store.ts";
import { fuzz } from "./run.ts";

const { values } = parseArgs({ options: { requests: { type: "string", default: "10000" }, seed: { type: "string" } } });

/** How often progress is told, in requests. */
const EVERY = 1000;

const seed = seedOf(values.seed);
await longRun(async (store) => {
  publishStores([store]);
  console.log(`${store.description}; seed ${seed}`);
  for (const guarded of [false, true]) {
    console.log(guarded ? "a server with keys, signed links, CORS and three partitions" : "an open server");
    const elapsed = stopwatch();
    let told = 0;
    const { requests, statuses } = await fuzz({
      requests: Number(values.requests) / 2,
      seed,
      guarded,
      apart: true,
      shrink: true,
      onProgress(sent) {
        if (sent - told < EVERY) return;
        told = sent;
        console.log(`${sent} requests in ${elapsed()}`);
      },
    });
    const counts = [...statuses].sort(([a], [b]) => a - b).map(([status, count]) => `${status}: ${count}`);
    console.log(`${requests} requests: every answer as promised, no hang, the process lives (${counts.join(", ")})`);
  }
});
