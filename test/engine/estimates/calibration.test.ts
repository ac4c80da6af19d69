import { expect } from "chai";
import { Calibration, EstimateSample } from "../../../src/engine/estimates/calibration.ts";
import type { Inspection } from "../../../src/engine/reading/inspect.ts";
import { createLog } from "../../../src/log.ts";
import { Metrics } from "../../../src/metrics.ts";
import type { QueueSnapshot } from "../../../src/store/verbs/scripts.ts";
import { eventually } from "../../shared/eventually.ts";

/** Of even tasks of one second behind one slot: a newcomer at index 0 starts in a second. */
const LINE: QueueSnapshot = {
  queue: "jobs",
  waiting: 0,
  scheduled: 0,
  running: 1,
  paused: false,
  breakerOpen: false,
  workers: 1,
  slots: 1,
  meanMs: 1000,
  variance: 100,
  samples: 1000,
  misses: [],
  slowMeanMs: null,
  slowMisses: [],
  agesMs: [0],
};

describe("the calibration of estimates", () => {
  it("compares a sample of the reported estimates with the actual starts, by the store's clock", async () => {
    const metrics = new Metrics();
    const sample = new EstimateSample();
    // Of a store whose clock is an hour behind.
    const createdMs = Date.now() - 3_600_000;
    const waitedMs = [500, 990, 1000, 1010, 1500];
    for (let n = 1; n <= 100; n += 1) sample.offer(`t${n}`, 0, LINE);
    expect([...sample.given.keys()]).to.deep.equal(["t20", "t40", "t60", "t80", "t100"]);

    const waits = new Map([...sample.given.keys()].map((id, n) => [id, waitedMs[n] ?? 0]));
    const inspect = async (id: string) =>
      ({
        state: "succeeded",
        createdMs,
        startedMs: createdMs + (waits.get(id) ?? 0),
        attempts: 1,
        lost: 0,
      }) as Inspection;
    const calibration = new Calibration({ metrics, sample, tasks: { inspect } }, createLog("silent"));
    calibration.start();
    try {
      await eventually(() => expect(sample.given.size).to.equal(0));
    } finally {
      await calibration.stop();
    }
    const snapshots = (await metrics.registry.getSingleMetricAsString("paihao_estimates_total")).split("\n");
    expect(snapshots).to.include.members([
      'paihao_estimates_total{queue="jobs",start="sooner"} 1',
      'paihao_estimates_total{queue="jobs",start="within"} 3',
      'paihao_estimates_total{queue="jobs",start="later"} 1',
    ]);
  });
});
