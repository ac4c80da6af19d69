/**
 * `npm run properties -- [--runs N] [--steps N] [--seed=N] [--path=P]`: the long form of test/engine/model/model.test.ts. It plays
 * random sequences of calls on the engine and on a plain model of it, on a redis-server of its own, and holds every promise
 * after each call. A failure prints the shortest sequence that breaks one, and the command that plays it again.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { messageOf } from "../../../src/errors.ts";
import { createLog } from "../../../src/log.ts";
import { provisionStore } from "../../../src/store/servers/provision.ts";
import { holdAgainstModel } from "./run.ts";

const { values } = parseArgs({
  options: {
    runs: { type: "string", default: "20000" },
    steps: { type: "string", default: "60" },
    seed: { type: "string" },
    path: { type: "string" },
  },
});

/** How often progress is told, in runs. */
const EVERY = 1000;

const seed = values.seed === undefined ? Date.now() % 2 ** 31 : Number(values.seed);
const dataDir = mkdtempSync(join(tmpdir(), "paihao-properties-"));
const store = await provisionStore({ redisUrl: undefined, store: undefined, dataDir }, createLog("error"));
try {
  console.log(`${store.description}; seed ${seed}`);
  const begun = performance.now();
  const seconds = () => `${((performance.now() - begun) / 1000).toFixed(1)} s`;
  const played = await holdAgainstModel(store.url, {
    runs: Number(values.runs),
    steps: Number(values.steps),
    seed,
    ...(values.path === undefined ? {} : { path: values.path }),
    onRun: (runs) => {
      if (runs % EVERY === 0) console.log(`${runs} runs in ${seconds()}`);
    },
  });
  console.log(`${played.runs} runs of ${played.steps} calls: every promise held, in ${seconds()}, seed ${seed}`);
} catch (error) {
  console.error(messageOf(error));
  if (error instanceof Error && error.cause !== undefined) console.error(messageOf(error.cause));
  process.exitCode = 1;
} finally {
  await store.stop();
  rmSync(dataDir, { recursive: true, force: true });
}
