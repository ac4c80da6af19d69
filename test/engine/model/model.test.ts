import { storeUrl } from "../../helpers/store/run-store.ts";
import { holdAgainstModel, type PropertyOptions } from "./run.ts";

/** Runs in a test run; the long form is `npx tsx test/engine/model/main.ts --runs N`, which draws a seed of its own. */
const RUNS = 150;
const STEPS = 40;
/** A slow machine plays fewer runs rather than fail. */
const LIMIT_MS = 15_000;

/** The seeds are fixed, so that a run fails by what was changed and not by what was drawn. */
const LINES: Readonly<Record<string, Omit<PropertyOptions, "runs" | "steps">>> = {
  "of all kinds of tasks": { seed: 1 },
  "of keyed queues": { seed: 2, keyed: true },
  "of callers with limits": { seed: 3, limited: true },
  "of fair lines": { seed: 4, fair: true },
  "of fair lines that are keyed": { seed: 5, fair: true, keyed: true },
  "of queues with a total": { seed: 6, total: true },
  "of fair lines that are keyed and have a total": { seed: 7, fair: true, keyed: true, total: true },
};

describe("the engine, compared with a plain model", () => {
  for (const [name, options] of Object.entries(LINES)) {
    it(`keeps every promise after each of ${RUNS} sequences of calls ${name}`, async function () {
      this.timeout(LIMIT_MS + 60_000);
      await holdAgainstModel(storeUrl(), { runs: RUNS, steps: STEPS, limitMs: LIMIT_MS, ...options });
    });
  }
});
