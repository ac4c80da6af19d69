import { expect } from "chai";
import { estimate } from "../../../src/engine/estimates/estimate.ts";
import { openEngine, resultOf, type TestEngine } from "../../helpers/engine.ts";
import { TASK } from "../../helpers/store/stored.ts";

const TTL_MS = 60_000;

describe("the window of service times", () => {
  let t: TestEngine;
  let tasks: number;
  beforeEach(async () => {
    t = await openEngine();
    tasks = 0;
  });
  afterEach(() => t.close());

  const take = async () => {
    tasks += 1;
    await t.submit({ id: `s${tasks}` });
    const [task] = await t.reserve(1);
    if (!task) throw new Error("nothing to take");
    return { queue: "jobs", id: task.id, fence: task.fence };
  };
  /** Ends so many tasks that took so long. */
  const end = async (count: number, serviceMs: number) => {
    for (let n = 0; n < count; n += 1) {
      await t.engine.leases.complete(await take(), resultOf("x"), t.settings, { serviceMs });
    }
  };
  const seen = async () => {
    const [row] = await t.engine.queues.figures(["jobs"]);
    if (!row) throw new Error("no figures");
    return row.snapshot;
  };

  it("has a time by Redis's clock where the worker does not say how long a task took", async () => {
    const lease = await take();
    const run = (await t.redis.hget(t.key("task", lease.id), TASK.run)) ?? "";
    await t.redis.hset(t.key("task", lease.id), TASK.run, run.replace(/^(\d+) 0/, "$1 -5000"));
    await t.engine.leases.complete(lease, resultOf("x"), t.settings);
    expect((await seen()).timesMs[0]).to.be.within(5000, 6000);
  });

  it("is the latest 64 times, the oldest first", async () => {
    for (let ms = 1; ms <= 70; ms += 1) await end(1, 1000 + ms);
    expect(await seen()).to.deep.include({ samples: 70, timesMs: Array.from({ length: 64 }, (_, n) => 1007 + n) });
  });

  it("is the latest 64 times where more tasks end in one call", async () => {
    await end(10, 1000);
    await Promise.all(Array.from({ length: 90 }, (_, n) => t.submit({ id: `many${n}` })));
    const taken = await t.reserve(90);
    const ends = taken.map(({ id, fence }, n) =>
      t.engine.leases.complete({ queue: "jobs", id, fence }, resultOf("x"), t.settings, { serviceMs: 2000 + n }),
    );
    await Promise.all(ends);
    expect(await seen()).to.deep.include({ samples: 100, timesMs: Array.from({ length: 64 }, (_, n) => 2026 + n) });
  });

  it("takes one in several of quick tasks once it is full, and each again soon after they are no longer quick", async () => {
    const countOf = async (ms: number) => (await seen()).timesMs.filter((one) => one === ms).length;
    await end(64, 1);
    expect(await countOf(1)).to.equal(64);
    await end(150, 2);
    expect(await countOf(2)).to.be.within(1, 10);
    expect((await seen()).samples, "each stands for several").to.be.within(64 + 64, 64 + 300);
    await end(100, 300);
    expect(await countOf(300)).to.be.above(32);
    await end(64, 400);
    expect(await countOf(400)).to.equal(64);
  });

  /** What the tasks of a line of one slot are told if it has been busy for no time yet, by the tasks before each. */
  const told = async () => {
    await t.engine.workers.heartbeat("w1", TTL_MS, new Map([["jobs", 1]]));
    await take();
    const { snapshot } = await t.submit({ id: "last" });
    return (before: number) => estimate(snapshot, { state: "waiting", index: before }, 0)?.seconds ?? Number.NaN;
  };

  it("has forgotten a slow episode when the line fills with quick tasks", async () => {
    await end(16, 3000);
    await end(200, 120);
    const seconds = await told();
    for (const before of [10, 100, 400]) {
      expect(seconds(before)).to.be.within(0.9 * 0.12 * (before + 1), 1.1 * 0.12 * (before + 1));
    }
  });

  it("follows when quick work becomes slow", async () => {
    await end(200, 12);
    await end(100, 300);
    const seconds = await told();
    for (const before of [10, 100, 400]) {
      expect(seconds(before)).to.be.within(0.65 * 0.3 * (before + 1), 1.35 * 0.3 * (before + 1));
    }
  });
});
