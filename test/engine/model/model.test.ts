import { storeUrl } from "../../helpers/store/run-store.ts";
import { holdAgainstModel } from "./run.ts";

/** Runs in a test run; the long form is `npx tsx test/engine/model/main.ts --runs N`. */
const RUNS = 150;
const STEPS = 40;
/** A slow machine plays fewer runs rather than fail. */
const LIMIT_MS = 15_000;

describe("the engine, compared with a plain model", () => {
  it(`keeps every promise after each of ${RUNS} random sequences of calls`, async function () {
    this.timeout(LIMIT_MS + 60_000);
    await holdAgainstModel(storeUrl(), { runs: RUNS, steps: STEPS, limitMs: LIMIT_MS });
  });

  it("does so when the queues are keyed", async function () {
    this.timeout(LIMIT_MS + 60_000);
    await holdAgainstModel(storeUrl(), { runs: RUNS, steps: STEPS, limitMs: LIMIT_MS, keyed: true });
  });

  it("does so when callers have limits", async function () {
    this.timeout(LIMIT_MS + 60_000);
    await holdAgainstModel(storeUrl(), { runs: RUNS, steps: STEPS, limitMs: LIMIT_MS, limited: true });
  });

  it("does so in fair lines", async function () {
    this.timeout(LIMIT_MS + 60_000);
    await holdAgainstModel(storeUrl(), { runs: RUNS, steps: STEPS, limitMs: LIMIT_MS, fair: true });
  });

  it("does so in fair lines that are keyed", async function () {
    this.timeout(LIMIT_MS + 60_000);
    await holdAgainstModel(storeUrl(), { runs: RUNS, steps: STEPS, limitMs: LIMIT_MS, fair: true, keyed: true });
  });
});
