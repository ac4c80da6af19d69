import { expect } from "chai";
import { estimate, estimatedPercent } from "../../../src/engine/estimates/estimate.ts";
import { forecastTurnovers } from "../../../src/engine/estimates/forecast.ts";
import { SHARED } from "../../../src/store/constants.ts";
import type { QueueSnapshot } from "../../../src/store/verbs/snapshot.ts";
import { openEngine, type TestEngine } from "../../helpers/engine.ts";
import { serviceIn } from "../../helpers/store/service.ts";
import { TASK } from "../../helpers/store/stored.ts";
import {
  ARRIVALS,
  ServiceStatistics,
  simulateLine,
  WORKLOADS,
  type WorkloadName,
} from "../../shared/line-simulation.ts";
import { randomOf } from "../../shared/random.ts";

/** Makes the run of a task begin so much earlier than it did. */
async function beginEarlier(t: TestEngine, id: string, ms: number): Promise<void> {
  const run = (await t.redis.hget(t.key("task", id), TASK.run)) ?? "";
  await t.redis.hset(t.key("task", id), TASK.run, run.replace(/^(\d+) 0/, `$1 ${-ms}`));
}

const snapshot = (over: Partial<QueueSnapshot> = {}): QueueSnapshot => ({
  queue: "jobs",
  waiting: 10,
  scheduled: 0,
  running: 4,
  paused: false,
  resting: false,
  workers: 1,
  slots: 4,
  meanMs: 10_000,
  variance: 1_000_000,
  samples: 500,
  misses: [],
  slowMeanMs: null,
  slowMisses: [],
  agesMs: [1000, 4000, 6000, 9000],
  ...over,
});
const waiting = (index: number) => ({ state: "waiting", index }) as const;

describe("an estimate", () => {
  it("is null without workers, without history and while the queue is paused", () => {
    expect(estimate(snapshot({ slots: 0 }), waiting(3), 0)).to.equal(null);
    expect(estimate(snapshot({ meanMs: null, variance: null, samples: 0 }), waiting(3), 0)).to.equal(null);
    expect(estimate(snapshot({ paused: true }), waiting(3), 0)).to.equal(null);
    expect(estimate(snapshot({ resting: true }), waiting(3), 0)).to.equal(null);
  });

  it("is now for a running task, and for one with a free slot", () => {
    expect(estimate(snapshot(), { state: "running", index: 0 }, 0)).to.include({
      seconds: 0,
      high: 0,
      basis: "running",
    });
    expect(estimate(snapshot({ running: 2, waiting: 0 }), waiting(1), 0)).to.include({ seconds: 0, basis: "idle" });
  });

  it("counts in a keyed line what starts before a task, and before a held task those with its key", () => {
    const turn = (before: number, ends: number, limit = 1) => ({ ...waiting(50), turn: { before, ends, limit } });
    const keyed = snapshot({ waiting: 90, startable: 20 });
    const middle = (index: number) => estimate(keyed, waiting(index), 0)?.seconds ?? 0;
    expect(estimate(keyed, turn(50, 0), 0)?.seconds, "all may start").to.equal(middle(50));
    expect(estimate(keyed, turn(20, 0), 0)?.seconds, "the others come first").to.be.within(middle(47), middle(50));
    const flooded = estimate(snapshot({ waiting: 90, startable: 8, mostFrequent: 1 }), turn(5, 0), 0)?.seconds;
    expect(flooded, "all that come first are of one key").to.be.below(middle(15));
    expect(estimate(snapshot({ running: 2 }), turn(1, 0), 0)?.basis, "fewer keys than slots").to.equal("idle");
    expect(estimate(snapshot({ running: 1 }), turn(0, 0), 0)?.basis).to.equal("idle");
    const held = (ends: number, limit?: number) =>
      estimate(snapshot({ running: 1 }), turn(0, ends, limit), 0)?.seconds ?? 0;
    expect(held(1)).to.be.within(3, 10);
    expect(held(20) - held(10)).to.be.within(80, 120);
    expect(held(20, 2)).to.be.below(held(20) * 0.6);
    expect(estimate(snapshot({ running: 0, meanMs: null, variance: null, samples: 0 }), turn(0, 1), 0)).to.equal(null);
  });

  it("takes into account how long the running tasks have run", () => {
    const early = estimate(snapshot({ slots: 1, running: 1, agesMs: [1000] }), waiting(0), 0);
    const late = estimate(snapshot({ slots: 1, running: 1, agesMs: [9000] }), waiting(0), 0);
    expect(early?.seconds).to.be.within(8, 10);
    expect(late?.seconds).to.be.within(0.5, 2.5);
  });

  it("follows the order in which tasks of equal length end", () => {
    const even = snapshot({ variance: 1, agesMs: [9000, 9000, 2000, 2000], samples: 5000 });
    const seconds = [0, 1, 2, 3, 4].map((index) => estimate(even, waiting(index), 0)?.seconds);
    expect(seconds).to.deep.equal([1, 1, 8, 8, 11]);
  });

  it("is wider with few samples", () => {
    const width = (samples: number) => {
      const eta = estimate(snapshot({ samples }), waiting(20), 0);
      return (eta?.high ?? 0) - (eta?.low ?? 0);
    };
    expect(width(2)).to.be.above(2 * width(50));
    expect(width(50)).to.be.at.least(width(5000));
  });

  it("uses the slow mean or the recent one, whichever forecast better", () => {
    const seconds = (over: Partial<QueueSnapshot>) =>
      estimate(snapshot({ slowMeanMs: 20_000, ...over }), waiting(200), 0)?.seconds;
    const latest = seconds({ slowMeanMs: null }) ?? 0;
    const misses = { good: [0, 0, 0, 0], bad: [1e8, 1e8, 1e8, 1e8] };
    expect(seconds({ misses: misses.bad, slowMisses: misses.good })).to.be.within(1.9 * latest, 2.1 * latest);
    expect(seconds({ misses: misses.good, slowMisses: misses.bad })).to.be.within(latest, 1.1 * latest);
  });

  it("is narrower if the slow mean is known to be accurate", () => {
    const width = (over: Partial<QueueSnapshot>) => {
      const eta = estimate(snapshot({ samples: 5000, misses: [1e5, 4e4, 3e4, 3e4], ...over }), waiting(400), 0);
      return (eta?.high ?? 0) - (eta?.low ?? 0);
    };
    const steady = { slowMeanMs: 10_000, slowMisses: [6e4, 1.6e4, 4e3, 1e3] };
    expect(width(steady)).to.be.below(0.6 * width({}));
  });

  it("is no sooner than the due time of a scheduled task", () => {
    const eta = estimate(snapshot(), { state: "scheduled", index: null, dueMs: 60_000 }, 0);
    expect(eta).to.include({ seconds: 60, low: 60, basis: "schedule" });
    expect(eta?.high).to.be.above(60);
  });

  it("of a scheduled task adds the wait of a newcomer to its due time, in a keyed line behind what may start", () => {
    const scheduled = { state: "scheduled", index: null, dueMs: 60_000 } as const;
    const behind = estimate(snapshot(), waiting(10), 0)?.high ?? 0;
    expect(estimate(snapshot(), scheduled, 0)?.high).to.be.closeTo(60 + behind, 0.1);
    const free = snapshot({ running: 1, startable: 0 });
    expect(estimate(free, scheduled, 0)).to.include({ seconds: 60, low: 60, high: 60 });
    expect(estimate(snapshot({ slots: 0 }), scheduled, 0), "no worker").to.include({ seconds: 60, high: 60 });
  });

  it("is the due time of a task that is tried again, since it then gets its old place", () => {
    const retrying = { state: "retrying", index: null, dueMs: 60_000 } as const;
    expect(estimate(snapshot(), retrying, 1500)).to.deep.equal({
      ...{ seconds: 58.5, low: 58.5, high: 58.5, basis: "schedule", samples: 500 },
    });
    expect(estimate(snapshot(), retrying, 61_000), "it has passed").to.include({ seconds: 0, low: 0, high: 0 });
    expect(estimate(snapshot(), { ...retrying, dueMs: null }, 0), "not known").to.equal(null);
  });

  it("is a number if no task took a millisecond", () => {
    for (const slots of [1, 8]) {
      for (const index of [0, 7, 19, 5000]) {
        for (const samples of [1, 2, 17, 5000]) {
          const none = { meanMs: 0, variance: 0, samples, slots, running: slots };
          for (const agesMs of [[], Array.from({ length: slots }, () => 0)]) {
            const eta = estimate(snapshot({ ...none, agesMs }), waiting(index), 0);
            expect(
              [eta?.low, eta?.seconds, eta?.high].every(Number.isFinite),
              JSON.stringify({ index, ...none }),
            ).to.equal(true);
          }
        }
      }
    }
  });

  it("is never now while more tasks are in front than slots are free, however much the work has changed", () => {
    for (const [meanMs, variance] of [
      [120, 3000 ** 2],
      [0.01, 1],
    ] as const) {
      const changed = snapshot({ meanMs, variance, slots: 1, running: 1, agesMs: [], misses: [1e7, 1e7, 1e7, 1e7] });
      for (const index of [0, 10, 400]) {
        const eta = estimate(changed, waiting(index), 0);
        expect(eta?.seconds).to.be.at.least(Math.max(0.001, (0.1 * (index + 1) * meanMs) / 1000 - 0.001));
        expect(eta?.high).to.be.at.least(eta?.seconds ?? 0);
      }
    }
  });

  it("is rounded to a millisecond below ten seconds, else to a tenth of a second", () => {
    const even = { variance: 0, samples: 1_000_000, agesMs: [0], slots: 1, running: 1 };
    expect(estimate(snapshot({ ...even, meanMs: 1234.4 }), waiting(0), 0)).to.include({
      seconds: 1.234,
      low: 1.234,
      high: 1.234,
    });
    expect(estimate(snapshot({ ...even, meanMs: 12_344 }), waiting(0), 0)).to.include({
      seconds: 12.3,
      low: 12.3,
      high: 12.4,
    });
  });

  it("keeps low, middle and high in order", () => {
    const random = randomOf(5);
    for (let n = 0; n < 2000; n += 1) {
      const slots = 1 + Math.floor(random() * 20);
      const meanMs = 10 ** (random() * 6);
      const eta = estimate(
        snapshot({
          slots,
          running: slots,
          meanMs,
          variance: (meanMs * random() * 3) ** 2,
          samples: 1 + Math.floor(random() * 3000),
          misses: [random() * meanMs ** 2, random() * meanMs ** 2],
          slowMeanMs: meanMs * (0.5 + random()),
          slowMisses: [random() * meanMs ** 2, random() * meanMs ** 2],
          agesMs: Array.from({ length: Math.min(slots, Math.floor(random() * 17)) }, () => random() * 3 * meanMs),
        }),
        waiting(Math.floor(10 ** (random() * 6))),
        0,
      );
      // Too few service times may tell nothing.
      if (!eta) continue;
      expect(eta.low).to.be.within(0, eta.seconds);
      expect(eta.high).to.be.at.least(eta.seconds);
      expect(Number.isFinite(eta.high)).to.equal(true);
    }
  });

  it("estimates the progress of a running task, never as done", () => {
    expect(estimatedPercent(snapshot(), 0, 2500)).to.equal(25);
    expect(estimatedPercent(snapshot(), 0, 99_000)).to.equal(99);
    expect(estimatedPercent(snapshot({ meanMs: null }), 0, 5000)).to.equal(null);
    expect(estimatedPercent(snapshot({ meanMs: 0 }), 0, 5000), "of no time at all").to.equal(null);
    expect(estimatedPercent(snapshot(), 9000, 5000), "the clock was set back").to.equal(0);
  });
});

describe("an estimate from few service times", () => {
  const few = (samples: number, over: Partial<QueueSnapshot> = {}) =>
    snapshot({ slots: 1, running: 1, agesMs: [600_000], meanMs: 2_000_000, variance: 4e12, samples, ...over });

  it("is null instead of a range that tells nothing", () => {
    expect(estimate(few(1), waiting(8), 0)).to.equal(null);
    expect(estimate(few(500), waiting(8), 0)).to.not.equal(null);
  });

  it("counts what running tasks report of their progress, which is all there is if none has ended", () => {
    const none = { meanMs: null, variance: null, samples: 0 };
    const half = { percent: 50, totalMs: 1_200_000 };
    expect(estimate(few(0, none), waiting(0), 0)).to.equal(null);
    const eta = estimate(few(0, { ...none, reports: [half] }), waiting(0), 0);
    expect(eta).to.include({ basis: "progress", samples: 1 });
    expect(eta?.seconds).to.be.closeTo(600, 60);
    expect(estimate(few(500, { reports: [half] }), waiting(0), 0)?.seconds, "rather than history").to.be.closeTo(
      600,
      90,
    );
  });
});

describe("low and high contain the true start in 80 % ± 10 % of cases", () => {
  for (const name of Object.keys(WORKLOADS) as WorkloadName[]) {
    it(`${name} service times`, () => {
      const line = { workload: WORKLOADS[name], slots: 4, tasks: 2000, seed: 11 };
      const looks = ARRIVALS.flatMap((arrivals) => [...simulateLine({ ...line, arrivals })]);
      const within = looks.filter(({ busy, waited }) => {
        const { lowMs, highMs } = forecastTurnovers(busy);
        return waited >= lowMs && waited <= highMs;
      });
      expect(looks.length).to.be.above(1000);
      expect(within.length / looks.length).to.be.within(0.7, 0.9);
    });
  }
});

describe("the statistics of service times", () => {
  it("are the same in complete.lua as in the simulation", async () => {
    const t = await openEngine();
    try {
      const key = t.key("queue");
      const random = randomOf(3);
      const expected = new ServiceStatistics();
      const result = { status: 204, contentType: null, headers: {}, body: Buffer.alloc(0) };
      let total = 0;
      for (let n = 0; n < 150; n += 1) {
        const { id } = { id: `s${n}` };
        await t.submit({ id });
        const [task] = await t.reserve(1);
        if (!task) throw new Error("nothing to take");
        // The first block of tasks takes no time at all, as far as the store knows.
        const earlierMs = n < SHARED.forecastBlocks[0] ? -5000 : Math.round(random() * 5000);
        await beginEarlier(t, id, earlierMs);
        await t.engine.leases.complete({ queue: "jobs", id, fence: task.fence }, result, t.settings);
        // How long it took is Redis's to say.
        const sum = (await serviceIn(t.redis, key))?.total ?? Number.NaN;
        expected.add(sum - total);
        total = sum;
      }
      const kept = await serviceIn(t.redis, key);
      expect(kept?.mean).to.be.closeTo(expected.mean, 1);
      expect(kept?.variance).to.be.closeTo(expected.variance, expected.variance / 1000);
      const { snapshot } = (await t.engine.inspector.inspect("s149", { result: false })) ?? {};
      expect(snapshot?.samples).to.equal(kept?.samples);
      expect(snapshot?.meanMs).to.be.closeTo(expected.mean, 1);
      expect(snapshot?.variance).to.be.closeTo(expected.variance, expected.variance / 1000);
      expect(snapshot?.slowMeanMs).to.be.closeTo(expected.slowMean ?? Number.NaN, 1);
      for (const [kept, wanted] of [
        [snapshot?.misses, expected.misses],
        [snapshot?.slowMisses, expected.slowMisses],
      ] as const) {
        expect(wanted).to.have.length(2);
        expect(kept?.slice(wanted.length)).to.deep.equal([0, 0]);
        for (const [i, miss] of wanted.entries()) expect(kept?.[i]).to.be.closeTo(miss, miss / 1000 + 1);
      }
    } finally {
      await t.close();
    }
  });

  it("include the ages of running tasks only while not every task has a slot", async () => {
    const t = await openEngine();
    try {
      await t.engine.workers.heartbeat("w1", 15_000, new Map([["jobs", 2]]));
      await Promise.all(["a", "b"].map((id) => t.submit({ id })));
      await t.reserve(1);
      expect((await t.engine.inspector.inspect("b", { result: false }))?.snapshot.agesMs).to.deep.equal([]);
      await t.submit({ id: "c" });
      expect((await t.engine.inspector.inspect("c", { result: false }))?.snapshot.agesMs).to.have.length(1);
      await t.reserve(1);
      await beginEarlier(t, "a", 5000);
      const seen = await t.engine.inspector.inspect("c", { result: false });
      const ages = [...(seen?.snapshot.agesMs ?? [])].sort((x, y) => x - y);
      expect(ages).to.have.length(2);
      expect(ages[0]).to.be.within(0, 1000);
      expect(ages[1]).to.be.within(5000, 6000);
    } finally {
      await t.close();
    }
  });
});
