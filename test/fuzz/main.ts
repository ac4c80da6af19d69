/**
 * `npm run fuzz -- [--requests N] [--seed N]`: the long form of test/http/fuzz.test.ts. It sends generated requests over every
 * route, and raw bytes that are none, to a server in a process of its own with a heap of 256 MB and a gateway to a hostile API, and holds every answer against the description of the API and the catalogue of problems.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { messageOf } from "../../src/errors.ts";
import { createLog } from "../../src/log.ts";
import { provisionStore } from "../../src/store/servers/provision.ts";
import { publishStore } from "../helpers/store/run-store.ts";
import { fuzz } from "./run.ts";

const { values } = parseArgs({ options: { requests: { type: "string", default: "10000" }, seed: { type: "string" } } });

/** How often progress is told, in requests. */
const EVERY = 1000;

const seed = values.seed === undefined ? Date.now() % 2 ** 31 : Number(values.seed);
const dataDir = mkdtempSync(join(tmpdir(), "paihao-fuzz-"));
const store = await provisionStore({ redisUrl: undefined, store: undefined, dataDir }, createLog("error"));
try {
  publishStore(store);
  console.log(`${store.description}; seed ${seed}`);
  for (const guarded of [false, true]) {
    console.log(guarded ? "a server with keys, signed links, CORS and three partitions" : "an open server");
    const begun = performance.now();
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
        console.log(`${sent} requests in ${((performance.now() - begun) / 1000).toFixed(1)} s`);
      },
    });
    const counts = [...statuses].sort(([a], [b]) => a - b).map(([status, count]) => `${status}: ${count}`);
    console.log(`${requests} requests: every answer as promised, no hang, the process lives (${counts.join(", ")})`);
  }
} catch (error) {
  console.error(messageOf(error));
  if (error instanceof Error && error.cause !== undefined) console.error(messageOf(error.cause));
  process.exitCode = 1;
} finally {
  await store.stop();
  rmSync(dataDir, { recursive: true, force: true });
}
