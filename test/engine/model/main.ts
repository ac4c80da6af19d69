/**
 * `npx tsx test/engine/model/main.ts [--fair] [--keyed] [--limited] [--total] [--runs N] [--steps N] [--seed=N] [--path=P]`: the long form of test/engine/model/model.test.ts. It plays
 * random sequences of calls on the engine and on a plain model of it, on a redis-server of its own, and holds every promise
 * after each call. A failure prints the shortest sequence that breaks one, and the command that plays it again.
 */

import { parseArgs } from "node:util";
import { longRun, seedOf, stopwatch } from "../../helpers/long-run.ts";
import { holdAgainstModel } from "./run.ts";

const { values } = parseArgs({
  options: {
    runs: { type: "string", default: "20000" },
    steps: { type: "string", default: "60" },
    fair: { type: "boolean", default: false },
    keyed: { type: "boolean", default: false },
    limited: { type: "boolean", default: false },
    total: { type: "boolean", default: false },
    seed: { type: "string" },
    path: { type: "string" },
  },
});

/** How often progress is told, in runs. */
const EVERY = 1000;

const seed = seedOf(values.seed);
await longRun(async (store) => {
  console.log(`${store.description}; seed ${seed}`);
  const elapsed = stopwatch();
  const played = await holdAgainstModel(store.url, {
    runs: Number(values.runs),
    steps: Number(values.steps),
    fair: values.fair,
    keyed: values.keyed || values.limited,
    limited: values.limited,
    total: values.total,
    seed,
    ...(values.path === undefined ? {} : { path: values.path }),
    onRun: (runs) => {
      if (runs % EVERY === 0) console.log(`${runs} runs in ${elapsed()}`);
    },
  });
  console.log(`${played.runs} runs of ${played.steps} calls: every promise held, in ${elapsed()}, seed ${seed}`);
});
