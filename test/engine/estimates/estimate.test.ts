import { expect } from "chai";
import { estimate, estimatedPercent } from "../../../src/engine/estimates/estimate.ts";
import { forecastTurnovers } from "../../../src/engine/estimates/forecast.ts";
import type { QueueSnapshot } from "../../../src/store/line/snapshot.ts";
import { openEngine, type TestEngine } from "../../helpers/engine.ts";
import { TASK } from "../../helpers/store/stored.ts";
import { ARRIVALS, simulateLine, WORKLOADS, type WorkloadName } from "../../shared/line-simulation.ts";
import { randomOf } from "../../shared/random.ts";
import { NO_TIMES, serviceTimes } from "../../shared/service-times.ts";

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
  ...serviceTimes(10_000, 1000),
  agesMs: [1000, 4000, 6000, 9000],
  ...over,
});
/** A range no wider than this share of the estimate may contain all true starts. */
const NARROW = 0.16;
const waiting = (index: number) => ({ state: "waiting", index }) as const;

describe("an estimate", () => {
  it("is null without workers, without history and while the queue is paused", () => {
    expect(estimate(snapshot({ slots: 0 }), waiting(3), 0)).to.equal(null);
    expect(estimate(snapshot(NO_TIMES), waiting(3), 0)).to.equal(null);
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
    expect(estimate(snapshot({ running: 0, ...NO_TIMES }), turn(0, 1), 0)).to.equal(null);
  });

  it("takes into account how long the running tasks have run", () => {
    const early = estimate(snapshot({ slots: 1, running: 1, agesMs: [1000] }), waiting(0), 0);
    const late = estimate(snapshot({ slots: 1, running: 1, agesMs: [9000] }), waiting(0), 0);
    expect(early?.seconds).to.be.within(8, 10);
    expect(late?.seconds).to.be.within(0.5, 2.5);
  });

  it("follows the order in which tasks of equal length end", () => {
    const even = snapshot({ ...serviceTimes(10_000, 1), agesMs: [9000, 9000, 2000, 2000] });
    const seconds = [0, 1, 2, 3, 4].map((index) => estimate(even, waiting(index), 0)?.seconds);
    expect(seconds).to.deep.equal([1, 1, 8, 8, 11]);
  });

  it("is wider with few samples", () => {
    const width = (samples: number) => {
      const eta = estimate(snapshot(serviceTimes(10_000, 1000, samples)), waiting(20), 0);
      return (eta?.high ?? 0) - (eta?.low ?? 0);
    };
    expect(width(2)).to.be.above(2 * width(50));
    expect(width(50)).to.be.at.least(width(5000));
  });

  it("has forgotten what has left the window, and believes the later half of it if the work has changed", () => {
    const seconds = (timesMs: readonly number[]) =>
      estimate(snapshot({ samples: 500, timesMs, agesMs: [0, 0, 0, 0] }), waiting(399), 0)?.seconds ?? 0;
    const { timesMs: slow } = serviceTimes(3000, 300);
    const { timesMs: fast } = serviceTimes(120, 12);
    const ended = (n: number) => seconds([...slow, ...fast.slice(0, n)].slice(-64));
    expect(seconds(fast)).to.be.closeTo(12, 0.5);
    expect(ended(64)).to.equal(seconds(fast));
    expect(ended(48), "three quarters are new").to.be.within(12, 24);
    for (let n = 0; n <= 64; n += 1) expect(ended(n), `${n} have ended`).to.be.within(12 * 0.9, 310);
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
          const none = { ...serviceTimes(0, 0, samples), slots, running: slots };
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

  it("is never now while more tasks are in front than slots are free, and never below what the quickest tenth takes", () => {
    const { timesMs } = serviceTimes(120);
    const windows = [timesMs, [...timesMs.slice(0, 57), 3e3, 3e4, 3e5], serviceTimes(0).timesMs, [0.01]];
    for (const [quickestMs, of] of [120, 120, 0, 0].map((ms, n) => [ms, windows[n] ?? []] as const)) {
      const changed = snapshot({ samples: 500, timesMs: of, slots: 1, running: 1, agesMs: [] });
      for (const index of [0, 10, 400]) {
        const eta = estimate(changed, waiting(index), 0);
        expect(eta?.seconds).to.be.at.least(Math.max(0.001, (index * quickestMs) / 1000));
        expect(eta?.high).to.be.at.least(eta?.seconds ?? 0);
      }
    }
  });

  it("is rounded to a millisecond below ten seconds, else to a tenth of a second", () => {
    const even = (ms: number) => snapshot({ ...serviceTimes(ms, 0, 1e9), agesMs: [0], slots: 1, running: 1 });
    expect(estimate(even(1234.4), waiting(0), 0)).to.include({
      seconds: 1.234,
      low: 1.234,
      high: 1.234,
    });
    expect(estimate(even(12_344), waiting(0), 0)).to.include({
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
          samples: 3000,
          timesMs: Array.from({ length: 1 + Math.floor(random() * 64) }, () => meanMs * 10 ** (3 * random() - 2)),
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
    expect(estimatedPercent(snapshot(NO_TIMES), 0, 5000)).to.equal(null);
    expect(estimatedPercent(snapshot(serviceTimes(0)), 0, 5000), "of no time at all").to.equal(null);
    expect(estimatedPercent(snapshot(), 9000, 5000), "the clock was set back").to.equal(0);
  });
});

describe("an estimate from few service times", () => {
  const few = (samples: number, over: Partial<QueueSnapshot> = {}) =>
    snapshot({ slots: 1, running: 1, agesMs: [600_000], ...serviceTimes(2_000_000, 2_000_000, samples), ...over });

  it("is null instead of a range that tells nothing", () => {
    expect(estimate(few(1), waiting(8), 0)).to.equal(null);
    expect(estimate(few(500), waiting(8), 0)).to.not.equal(null);
  });

  it("counts what running tasks report of their progress, which is all there is if none has ended", () => {
    const none = NO_TIMES;
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
      const told = looks.map(({ busy, waited }) => ({ ...forecastTurnovers(busy), waited }));
      const within = told.filter(({ lowMs, highMs, waited }) => waited >= lowMs && waited <= highMs);
      const widths = told.map(({ lowMs, middleMs, highMs }) => (highMs - lowMs) / middleMs).sort((a, b) => a - b);
      expect(looks.length).to.be.above(1000);
      const most = (widths[widths.length >> 1] ?? 0) <= NARROW ? 1 : 0.9;
      expect(within.length / looks.length).to.be.within(0.7, most);
    });
  }
});

describe("a snapshot", () => {
  it("includes the ages of running tasks only while not every task has a slot", async () => {
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
