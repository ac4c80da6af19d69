import { expect } from "chai";
import { failureOf, openEngine, type TestEngine } from "../helpers/engine.ts";
import { QUEUE, TASK } from "../helpers/store/stored.ts";
import { submissionOf } from "../shared/submission.ts";

describe("the life of a task", () => {
  let t: TestEngine;
  beforeEach(async () => {
    t = await openEngine({ settings: { attempts: 2, maxLost: 1 } });
  });
  afterEach(() => t.close());

  it("remembers the reservation of each lane of a worker until the worker leaves", async () => {
    await Promise.all(["a", "b", "c"].map((id) => t.submit({ id })));
    const ids = async (reservation: string, lane: number) =>
      (await t.reserve(1, { reservation, lane })).map((task) => task.id);
    expect([await ids("first", 0), await ids("second", 1)]).to.deep.equal([["a"], ["b"]]);
    expect([await ids("first", 0), await ids("second", 1)]).to.deep.equal([["a"], ["b"]]);
    await t.engine.workers.heartbeat("w1", 60_000, new Map([["jobs", 2]]));
    await t.engine.workers.heartbeat("w1", 0, new Map([["jobs", 2]]));
    const fields = await t.redis.hkeys(t.key("queue", "jobs"));
    expect(fields.filter((field) => field.startsWith(QUEUE.reservation))).to.deep.equal([]);
  });

  it("keeps its last five errors", async () => {
    const t9 = await openEngine({ settings: { attempts: 9 } });
    try {
      await t9.submit({ id: "a" });
      for (let n = 1; n <= 7; n += 1) {
        const [task] = await t9.reserve();
        const lease = { queue: "jobs", id: "a", fence: task?.fence ?? "" };
        await t9.engine.leases.fail(lease, { ...failureOf("retry"), error: `e${n}` }, t9.settings);
        await t9.makeDue("a");
        await t9.engine.upkeep.tick(0);
      }
      const [task] = await t9.reserve();
      const end = { ...failureOf("give-up"), error: "e8" };
      await t9.engine.leases.fail({ queue: "jobs", id: "a", fence: task?.fence ?? "" }, end, t9.settings);
      expect((await t9.look("a")).errors).to.deep.equal(["e8", "e7", "e6", "e5", "e4"]);
    } finally {
      await t9.close();
    }
  });

  it("says how often its input was replaced", async () => {
    await t.submit({ id: "a" });
    expect(await t.look("a")).to.include({ revision: 0 });
    await t.engine.submitter.update(submissionOf("a", "jobs", "2", { query: { page: "2" } }), t.settings);
    expect(await t.look("a")).to.include({ revision: 1 });
    expect((await t.reserve())[0]).to.include({ query: '{"page":"2"}' });
  });

  it("returns to the line after a loss or a failure even if the record of its run cannot be read", async () => {
    for (const id of ["lost", "failed"]) await t.submit({ id });
    const [, failed] = await t.reserve(2);
    await t.engine.leases.fail(
      { queue: "jobs", id: "failed", fence: failed?.fence ?? "" },
      failureOf("retry"),
      t.settings,
    );
    for (const id of ["lost", "failed"]) await t.redis.hset(t.key("task", id), TASK.run, "29000000000000");
    await t.endLease("lost");
    await t.makeDue("failed");
    await t.engine.upkeep.tick(0);
    const taken = await t.reserve(2);
    expect(taken.map(({ id }) => id).sort()).to.deep.equal(["failed", "lost"]);
  });
});
