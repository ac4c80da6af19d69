import { expect } from "chai";
import { estimate } from "../../../src/engine/estimates/estimate.ts";
import { forecastStart } from "../../../src/engine/estimates/forecast.ts";
import type { QueueSnapshot, WorkerStart } from "../../../src/store/line/snapshot.ts";
import { NO_TIMES, serviceTimes } from "../../shared/service-times.ts";
import { START_TIMES, type StartTimes, simulateStarts } from "../../shared/start-simulation.ts";

const declared: WorkerStart = { elapsedMs: 0, declaredMs: 70_000, meanMs: 0, variance: 0, samples: 0, slots: 2 };
const learned: WorkerStart = { ...declared, declaredMs: null, meanMs: 40_000, variance: 16e6, samples: 10 };

describe("the forecast of a worker's start", () => {
  it("has what the handler declares in its middle, else about the mean of the starts so far", () => {
    expect(forecastStart(declared).middleMs).to.be.closeTo(70_000, 1);
    expect(forecastStart({ ...learned, declaredMs: 70_000 }).middleMs, "both").to.be.closeTo(70_000, 1);
    expect(forecastStart(learned).middleMs).to.be.within(38_000, 40_000);
  });

  it("is narrower the more starts were alike", () => {
    const width = (samples: number, variance = 0) => {
      const { lowMs, highMs } = forecastStart({ ...learned, samples, variance });
      return highMs - lowMs;
    };
    expect(width(10)).to.be.below(width(3));
    expect(width(3)).to.be.below(width(1));
    expect(width(10)).to.be.below(width(10, 400e6));
  });

  it("subtracts the time that has passed, and grows again once a start takes longer than usual", () => {
    const at = (elapsedMs: number) => forecastStart({ ...declared, elapsedMs });
    expect(at(30_000).middleMs).to.be.within(38_000, 50_000);
    let last = at(100_000);
    for (const elapsedMs of [150_000, 300_000, 900_000, 3_600_000]) {
      const next = at(elapsedMs);
      expect(next.middleMs).to.be.above(last.middleMs);
      expect(next.highMs - next.lowMs).to.be.above(last.highMs - last.lowMs);
      last = next;
    }
  });

  it("is never at once, never negative, and in order, whatever the figures are", () => {
    for (const elapsedMs of [0, 1, 1000, 3_600_000]) {
      for (const declaredMs of [null, 1, 3_600_000]) {
        for (const meanMs of [0, 1, 3_600_000]) {
          for (const variance of [0, 1, 1e13]) {
            for (const samples of [1, 20, 1e6]) {
              const given = { elapsedMs, declaredMs, meanMs, variance, samples, slots: 1 };
              const { lowMs, middleMs, highMs } = forecastStart(given);
              const label = JSON.stringify({ given, lowMs, middleMs, highMs });
              expect([lowMs, middleMs, highMs].every(Number.isFinite), label).to.equal(true);
              expect(lowMs, label).to.be.at.least(1);
              expect(middleMs, label).to.be.at.least(lowMs);
              expect(highMs, label).to.be.at.least(middleMs);
            }
          }
        }
      }
    }
  });

  for (const name of Object.keys(START_TIMES) as StartTimes[]) {
    it(`contains the true start in 70 to 90 % of cases: ${name} times`, () => {
      const looks = Array.from({ length: 50 }, (_, seed) => simulateStarts(name, 20, seed + 1)).flat();
      const within = looks.filter(({ starting, leftMs }) => {
        const { lowMs, highMs } = forecastStart(starting);
        return leftMs >= lowMs && leftMs <= highMs;
      });
      expect(within.length / looks.length).to.be.within(0.7, 0.9);
    });
  }
});

describe("an estimate without a worker", () => {
  const snapshot: QueueSnapshot = {
    ...{ queue: "jobs", waiting: 10, scheduled: 0, running: 0, paused: false, resting: false },
    ...{ workers: 0, slots: 0, ...serviceTimes(10_000, 1000), agesMs: [] },
    starting: declared,
  };
  const at = (index: number, over: Partial<QueueSnapshot> = {}) =>
    estimate({ ...snapshot, ...over }, { state: "waiting", index }, 0);

  it("is that of the start for as many tasks as its worker has slots, and later for those behind", () => {
    const { lowMs, highMs } = forecastStart(declared);
    for (const index of [0, 1]) {
      expect(at(index)).to.deep.include({ seconds: 70, basis: "starting", samples: 0 });
      expect(at(index)?.low).to.be.closeTo(lowMs / 1000, 0.1);
      expect(at(index)?.high).to.be.closeTo(highMs / 1000, 0.1);
    }
    expect(at(2)?.seconds).to.be.within(79, 81);
    expect(at(7)?.seconds).to.be.within(98, 102);
    expect(at(2)?.low).to.be.within(lowMs / 1000 + 8, 80);
  });

  it("counts what a lost worker still holds, since that returns to its place", () => {
    expect(at(0, { running: 2 })).to.deep.equal(at(2));
  });

  it("counts calls where a slot takes several tasks", () => {
    const batch = { max: 10, waitMs: 0 };
    expect(at(19, { batch })?.seconds).to.equal(70);
    expect(at(20, { batch })?.seconds).to.be.within(79, 81);
  });

  it("counts in a keyed line only what may start, and before a held task those with its key", () => {
    const turn = { before: 0, ends: 1, limit: 1 };
    const held = estimate(snapshot, { state: "waiting", index: 9, turn }, 0);
    expect(held?.seconds).to.be.within(73, 82);
    expect(held?.basis).to.equal("starting");
  });

  it("is null while the queue is paused, its circuit breaker open, or nothing known of what it needs", () => {
    expect(at(0, { paused: true })).to.equal(null);
    expect(at(0, { resting: true })).to.equal(null);
    expect(at(0, { starting: null })).to.equal(null);
    const unknown = NO_TIMES;
    expect(at(1, unknown)?.seconds, "it starts with the worker").to.equal(70);
    expect(at(2, unknown), "nobody knows how long those before it take").to.equal(null);
  });

  it("is the earliest start of a scheduled task, which may need a worker too", () => {
    const scheduled = { state: "scheduled", index: null, dueMs: 60_000 } as const;
    const eta = estimate({ ...snapshot, waiting: 0 }, scheduled, 0);
    expect(eta).to.include({ seconds: 60, low: 60, basis: "schedule" });
    expect(eta?.high).to.be.above(130);
    expect(estimate(snapshot, scheduled, 0)?.seconds, "behind those in line").to.be.above(100);
  });
});
