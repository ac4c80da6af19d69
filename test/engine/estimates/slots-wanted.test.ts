import { expect } from "chai";
import { estimate } from "../../../src/engine/estimates/estimate.ts";
import * as wanted from "../../../src/engine/estimates/slots-wanted.ts";
import { randomOf } from "../../shared/random.ts";

const snapshot = {
  waiting: 0,
  running: 0,
  paused: false,
  resting: false,
  workers: 1,
  meanMs: 10_000,
  samples: 500,
};
const MAX = Number.MAX_SAFE_INTEGER;

const slotsWanted = (
  snapshot: Parameters<typeof wanted.slotsWanted>[0]["snapshot"],
  targetMs: number | undefined,
  acceptedLastMinute = 0,
  finishedLastMinute = 0,
) => wanted.slotsWanted({ snapshot, acceptedLastMinute, finishedLastMinute }, targetMs);

/**
 * Tasks of about a second arrive by chance, twenty a second, for half an hour; every 15 s there are as many slots as are wanted then.
 * @returns which share of the tasks waited longer than the target, and how many slots there were on average
 */
function autoscale(targetMs: number, seed: number): { late: number; slots: number } {
  const random = randomOf(seed);
  const exponential = (mean: number) => -mean * Math.log(1 - random());
  const line: number[] = [];
  let running: number[] = [];
  const arrivals: number[] = [];
  let [slots, total, late, scaled, slotSum] = [1, 0, 0, 0, 0];
  const LONG_MS = 30 * 60_000;
  let nextArrival = exponential(50);
  for (let now = 0; now < LONG_MS; ) {
    const nextEnd = Math.min(...running);
    const nextScaling = scaled * 15_000;
    now = Math.min(nextArrival, nextEnd, nextScaling);
    if (now === nextArrival) {
      line.push(now);
      arrivals.push(now);
      nextArrival = now + exponential(50);
    } else if (now === nextEnd) running.splice(running.indexOf(now), 1);
    else {
      while ((arrivals[0] ?? now) < now - 60_000) arrivals.shift();
      const figures = { ...snapshot, meanMs: 1000, waiting: line.length, running: running.length };
      slots = slotsWanted(figures, targetMs, arrivals.length) ?? Number.NaN;
      slotSum += slots;
      scaled += 1;
    }
    while (running.length < slots && line.length > 0) {
      // The first minutes, in which nothing is known yet, do not count.
      if (now > 5 * 60_000) {
        total += 1;
        late += now - (line[0] ?? now) > targetMs ? 1 : 0;
      }
      line.shift();
      running = [...running, now + exponential(1000)];
    }
  }
  return { late: late / total, slots: slotSum / scaled };
}

describe("the slots that start a newcomer within the target wait", () => {
  const unknown = { ...snapshot, meanMs: null, samples: 0 };

  it("are none after a minute without work, with or without a target, so that an autoscaler may stop the last worker", () => {
    for (const targetMs of [10_000, undefined]) {
      expect(slotsWanted(snapshot, targetMs)).to.equal(0);
      expect(slotsWanted({ ...unknown, workers: 0 }, targetMs)).to.equal(0);
      expect(slotsWanted({ ...snapshot, waiting: 9, startable: 0 }, targetMs), "all wait for their key").to.equal(0);
    }
  });

  it("are one for an empty queue that had work in the last minute, even before the first task has ended", () => {
    expect(slotsWanted(snapshot, 10_000, 1)).to.equal(1);
    expect(slotsWanted(snapshot, 10_000, 0, 1)).to.equal(1);
    expect(slotsWanted(snapshot, 10_000, 5, 5), "all of it has ended").to.equal(1);
    expect(slotsWanted(unknown, 10_000, 1)).to.equal(1);
    expect(slotsWanted(snapshot, undefined, 1), "whether it is enough depends on the target").to.equal(null);
  });

  it("are at least one with work and no worker, so that an autoscaler starts the first", () => {
    const cold = { ...unknown, waiting: 5, workers: 0 };
    expect(slotsWanted(cold, 10_000)).to.equal(1);
    expect(slotsWanted(cold, undefined)).to.equal(1);
    expect(slotsWanted({ ...cold, waiting: 0, running: 1 }, undefined), "a lost worker has one").to.equal(1);
    expect(slotsWanted({ ...snapshot, waiting: 19, workers: 0 }, 10_000)).to.equal(10);
    expect(slotsWanted({ ...cold, paused: true }, 10_000)).to.equal(null);
    expect(slotsWanted({ ...cold, resting: true }, 10_000)).to.equal(null);
  });

  it("are unknown with a worker but without a target, while the queue is paused, and with work but no history", () => {
    expect(slotsWanted({ ...snapshot, waiting: 5 }, undefined)).to.equal(null);
    expect(slotsWanted({ ...snapshot, waiting: 5, paused: true }, 10_000)).to.equal(null);
    expect(slotsWanted({ ...snapshot, waiting: 5, resting: true }, 10_000)).to.equal(null);
    expect(slotsWanted({ ...snapshot, waiting: 5, meanMs: null, samples: 0 }, 10_000)).to.equal(null);
    expect(slotsWanted({ ...snapshot, running: 1, meanMs: null, samples: 0 }, 10_000)).to.equal(null);
  });

  it("leave out tasks that wait for their key", () => {
    const busy = { ...snapshot, waiting: 5000, startable: 15, running: 4 };
    expect(slotsWanted(busy, 10_000)).to.equal(10);
  });

  it("grow with the work in front and shrink with a longer target", () => {
    // 19 in front and the newcomer: 20 × 10 s of work; each slot has the target and one service time for it.
    const busy = { ...snapshot, waiting: 15, running: 4 };
    expect(slotsWanted(busy, 10_000)).to.equal(10);
    expect(slotsWanted(busy, 90_000)).to.equal(2);
    expect(slotsWanted({ ...busy, waiting: 35 }, 10_000)).to.equal(20);
  });

  it("are whole, rounded up, and never fewer than one", () => {
    expect(slotsWanted({ ...snapshot, waiting: 1 }, 10_000)).to.equal(1);
    expect(slotsWanted({ ...snapshot, waiting: 2 }, 10_000)).to.equal(2);
    expect(slotsWanted({ ...snapshot, waiting: 3, meanMs: 0.3 }, 0.9)).to.equal(1);
    expect(slotsWanted({ ...snapshot, waiting: 1000, meanMs: 0 }, 1)).to.equal(1);
  });

  it("do not gain one by an error of floating-point arithmetic", () => {
    for (let slots = 1; slots <= 200; slots += 1) {
      // (work + 1) × 0.1 / (0.1 + 0.2) is the number of slots, give or take the last bit.
      expect(slotsWanted({ ...snapshot, waiting: slots * 3 - 1, meanMs: 0.1 }, 0.2)).to.equal(slots);
    }
  });

  it("are never more than there are tasks, however long they take", () => {
    expect(slotsWanted({ ...snapshot, waiting: 1_000_000, meanMs: 1e12 }, 1)).to.equal(1_000_001);
    expect(slotsWanted({ ...snapshot, waiting: MAX, meanMs: 10_000 }, 10_000)).to.be.within(MAX / 2, MAX / 2 + 2);
  });

  it("keep up with arrivals, even if no task is waiting", () => {
    // 300 tasks of 10 s in a minute: 50 busy slots, and a tenth more.
    expect(slotsWanted(snapshot, 10_000, 300)).to.equal(55);
    expect(slotsWanted({ ...snapshot, waiting: 3, running: 50 }, 10_000, 300)).to.equal(55);
    expect(slotsWanted({ ...snapshot, waiting: 300, running: 50 }, 10_000, 300)).to.equal(176);
    expect(slotsWanted({ ...snapshot, meanMs: null, samples: 0 }, 10_000, 300)).to.equal(1);
  });

  it("are never fewer than arrivals keep busy, although there were few at the beginning of the minute", () => {
    // 40 a second of 2 s, for 46 s so far.
    const busy = { ...snapshot, running: 80, meanMs: 2000 };
    expect(slotsWanted(busy, 10_000, 40 * 46, 40 * 44)).to.be.at.least(80);
    expect(slotsWanted({ ...busy, batch: { max: 8, waitMs: 0 } }, 10_000, 40 * 46, 40 * 44)).to.be.within(10, 14);
  });

  it("are no more than a rate can keep busy", () => {
    const held = { ...snapshot, waiting: 3475, running: 5, meanMs: 900, rate: { max: 5, perMs: 1000, starts: [] } };
    expect(slotsWanted(held, 10_000)).to.equal(5);
    expect(slotsWanted({ ...held, meanMs: 2500 }, 10_000)).to.equal(15);
    expect(slotsWanted({ ...held, waiting: 2, running: 0 }, 10_000), "a short line").to.equal(1);
  });

  it("are not wanted for arrivals that wait for their key", () => {
    expect(slotsWanted({ ...snapshot, waiting: 99, startable: 0, running: 1 }, 10_000, 300)).to.equal(1);
  });

  it("keep nearly all waits within the target under an autoscaler", () => {
    for (const targetMs of [5000, 10_000, 30_000]) {
      const { late, slots } = autoscale(targetMs, targetMs);
      expect(late, `late with a target of ${targetMs} ms`).to.be.below(0.01);
      expect(slots).to.be.below(26);
    }
  });

  it("agree with the estimate: as many slots keep the target, a few less do not", () => {
    const random = randomOf(7);
    for (let n = 0; n < 500; n += 1) {
      const meanMs = 10 ** (1 + random() * 4);
      const targetMs = meanMs * (0.5 + random() * 20);
      const waiting = Math.floor(50 + random() * 5000);
      const running = Math.floor(1 + random() * 20);
      const wanted = slotsWanted({ ...snapshot, waiting, running, meanMs }, targetMs) ?? Number.NaN;
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
