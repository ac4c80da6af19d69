import { expect } from "chai";
import { estimate } from "../../../src/engine/estimates/estimate.ts";
import { slotsWanted } from "../../../src/engine/estimates/slots-wanted.ts";
import { randomOf } from "../../../testbed/random.ts";

const line = { waiting: 0, running: 0, paused: false, resting: false, meanMs: 10_000, samples: 500 };
const MOST = Number.MAX_SAFE_INTEGER;

describe("the slots that start a newcomer within the target wait", () => {
  it("are one for an empty queue, even before its first task", () => {
    expect(slotsWanted(line, 10_000)).to.equal(1);
    expect(slotsWanted({ ...line, meanMs: null, samples: 0 }, 10_000)).to.equal(1);
  });

  it("are unknown without a target, while the queue is paused, and with work but no history", () => {
    expect(slotsWanted({ ...line, waiting: 5 }, undefined)).to.equal(null);
    expect(slotsWanted({ ...line, waiting: 5, paused: true }, 10_000)).to.equal(null);
    expect(slotsWanted({ ...line, waiting: 5, resting: true }, 10_000)).to.equal(null);
    expect(slotsWanted({ ...line, waiting: 5, meanMs: null, samples: 0 }, 10_000)).to.equal(null);
    expect(slotsWanted({ ...line, running: 1, meanMs: null, samples: 0 }, 10_000)).to.equal(null);
  });

  it("leave out what waits for its key", () => {
    const busy = { ...line, waiting: 5000, startable: 15, running: 4 };
    expect(slotsWanted(busy, 10_000)).to.equal(10);
  });

  it("grow with the work in front and shrink with a longer target", () => {
    // 19 in front and the newcomer: 20 × 10 s of work; each slot has the target and one service time for it.
    const busy = { ...line, waiting: 15, running: 4 };
    expect(slotsWanted(busy, 10_000)).to.equal(10);
    expect(slotsWanted(busy, 90_000)).to.equal(2);
    expect(slotsWanted({ ...busy, waiting: 35 }, 10_000)).to.equal(20);
  });

  it("are whole, rounded up, and never fewer than one", () => {
    expect(slotsWanted({ ...line, waiting: 1 }, 10_000)).to.equal(1);
    expect(slotsWanted({ ...line, waiting: 2 }, 10_000)).to.equal(2);
    expect(slotsWanted({ ...line, waiting: 3, meanMs: 0.3 }, 0.9)).to.equal(1);
    expect(slotsWanted({ ...line, waiting: 1000, meanMs: 0 }, 1)).to.equal(1);
  });

  it("do not gain one by an error of floating-point arithmetic", () => {
    for (let slots = 1; slots <= 200; slots += 1) {
      // (work + 1) × 0.1 / (0.1 + 0.2) is the number of slots, give or take the last bit.
      expect(slotsWanted({ ...line, waiting: slots * 3 - 1, meanMs: 0.1 }, 0.2)).to.equal(slots);
    }
  });

  it("are never more than there are tasks, however long they take", () => {
    expect(slotsWanted({ ...line, waiting: 1_000_000, meanMs: 1e12 }, 1)).to.equal(1_000_001);
    expect(slotsWanted({ ...line, waiting: MOST, meanMs: 10_000 }, 10_000)).to.be.within(MOST / 2, MOST / 2 + 2);
  });

  it("agree with the estimate: as many slots keep the target, a few less do not", () => {
    const random = randomOf(7);
    for (let n = 0; n < 500; n += 1) {
      const meanMs = 10 ** (1 + random() * 4);
      const targetMs = meanMs * (0.5 + random() * 20);
      const waiting = Math.floor(50 + random() * 5000);
      const running = Math.floor(1 + random() * 20);
      const wanted = slotsWanted({ ...line, waiting, running, meanMs }, targetMs) ?? Number.NaN;
      const waitMs = (slots: number) => {
        const figures = { queue: "q", scheduled: 0, workers: 1, variance: 0, samples: 1e9, misses: [], slowMisses: [] };
        const seen = {
          ...figures,
          waiting,
          running,
          paused: false,
          resting: false,
          slots,
          meanMs,
          slowMeanMs: null,
          agesMs: [],
        };
        return (estimate(seen, { state: "waiting", index: waiting }, 0)?.seconds ?? Number.NaN) * 1000;
      };
      const label = JSON.stringify({ meanMs, targetMs, waiting, running, wanted });
      expect(waitMs(wanted), label).to.be.at.most(targetMs + meanMs + 50);
      expect(waitMs(Math.floor(wanted * 0.8)), label).to.be.above(targetMs - meanMs);
    }
  });
});
