import { expect } from "chai";
import { Calibration, EstimateSample } from "../../../src/engine/estimates/calibration.ts";
import type { Inspection } from "../../../src/engine/watch/inspect.ts";
import { createLog } from "../../../src/log.ts";
import { Metrics } from "../../../src/metrics/metrics.ts";
import type { QueueSnapshot } from "../../../src/store/line/snapshot.ts";
import { eventually } from "../../shared/eventually.ts";
import { serviceTimes } from "../../shared/service-times.ts";

/** Of even tasks of one second behind one slot: a newcomer at index 0 starts in a second. */
const LINE: QueueSnapshot = {
  queue: "jobs",
  waiting: 0,
  scheduled: 0,
  running: 1,
  paused: false,
  resting: false,
  workers: 1,
  slots: 1,
  ...serviceTimes(1000, 10),
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
      }) as unknown as Inspection;
    const calibration = new Calibration({ inspect }, metrics, sample, createLog("silent"));
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

  it("leaves out tasks whose start says nothing, and waits for those that still wait", async () => {
    const metrics = new Metrics();
    const sample = new EstimateSample();
    const started = {
      state: "succeeded",
      createdMs: 0,
      startedMs: 1000,
      attempts: 1,
      lost: 0,
    } as unknown as Inspection;
    const seen = new Map<string, Inspection | null>([
      ["t20", { ...started, state: "waiting" }],
      ["t40", null],
      ["t60", { ...started, state: "canceled", startedMs: null }],
      ["t80", { ...started, attempts: 2 }],
      ["t100", { ...started, lost: 1 }],
      ["t120", started],
    ]);
    for (let n = 1; n <= 120; n += 1) sample.offer(`t${n}`, 0, LINE);
    const inspect = async (id: string) => seen.get(id) ?? null;
    const calibration = new Calibration({ inspect }, metrics, sample, createLog("silent"));
    calibration.start();
    try {
      await eventually(() => expect([...sample.given.keys()]).to.deep.equal(["t20"]));
    } finally {
      await calibration.stop();
    }
    const counted = await metrics.registry.getSingleMetricAsString("paihao_estimates_total");
    expect(counted.split("\n").filter((line) => / [1-9]/.test(line) && !line.startsWith("#"))).to.deep.equal([
      'paihao_estimates_total{queue="jobs",start="within"} 1',
    ]);
  });

  it("compares only estimates with a history, and remembers no more than 500", () => {
    const sample = new EstimateSample();
    for (let n = 1; n <= 20; n += 1) sample.offer(`idle${n}`, 0, { ...LINE, running: 0 });
    for (let n = 1; n <= 20; n += 1) sample.offer(`paused${n}`, 0, { ...LINE, paused: true });
    expect(sample.given.size).to.equal(0);
    for (let n = 1; n <= 20 * 501; n += 1) sample.offer(`t${n}`, 0, LINE);
    expect(sample.given.size).to.equal(500);
    const { lowMs = 0, highMs = 0 } = sample.given.get("t20") ?? {};
    expect([lowMs < 1000, lowMs > 900, highMs > 1000, highMs < 1100]).to.deep.equal(Array(4).fill(true));
  });
});
