import { expect } from "chai";
import type { ReservedTask } from "../../src/store/verbs/reserve.ts";
import { failureOf, openEngine, resultOf, type TestEngine } from "../helpers/engine.ts";
import { QUEUE, TASK } from "../helpers/store/stored.ts";
import { submissionOf } from "../shared/submission.ts";

const lease = (task: ReservedTask) => ({ queue: "jobs", id: task.id, fence: task.fence });

describe("the life of a task", () => {
  let t: TestEngine;
  beforeEach(async () => {
    t = await openEngine({ settings: { attempts: 2, maxLost: 1 } });
  });
  afterEach(() => t.close());

  const look = (id: string) => t.look(id);
  const take = async () => {
    const [task] = await t.reserve(1);
    if (!task) throw new Error("nothing to take");
    return task;
  };

  it("goes from waiting through running to succeeded, with its result until the TTL ends", async () => {
    await t.submit({ id: "a", input: '{"x":"ünï"}', query: { width: "10" } });
    const task = await take();
    expect(task.input.toString()).to.equal('{"x":"ünï"}');
    expect(task).to.include({ id: "a", attempt: 1, lost: 0, query: '{"width":"10"}' });
    expect(await look("a")).to.include({ state: "running", index: 0, ahead: 0 });
    expect(await t.engine.leases.complete(lease(task), resultOf("done"), t.settings)).to.equal("done");
    const seen = await look("a");
    expect(seen).to.include({ state: "succeeded", index: null, expired: false });
    expect(seen.result?.body.toString()).to.equal("done");
    expect(seen.result?.headers).to.deep.equal({ "x-made-by": "test" });
    expect((seen.expiresMs ?? 0) - (seen.finishedMs ?? 0)).to.equal(t.settings.resultTtlMs);
    expect(await t.redis.pttl(t.key("task", "a"))).to.be.above(t.settings.resultTtlMs);
  });

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

  it("does not return tasks again that were lost and reserved by the other lane of the same worker", async () => {
    await t.submit({ id: "a" });
    await t.reserve(1, { reservation: "first" });
    await t.engine.maintenance.tick(0);
    await t.redis.hset(t.key("ticked"), "ended", Date.now() + 60_000);
    await t.endLease("a");
    expect((await t.engine.maintenance.tick(0)).lost).to.have.length(1);
    const [retaken] = await t.reserve(1, { reservation: "second", lane: 1 });
    expect(retaken).to.include({ id: "a", lost: 1 });
    expect(await t.reserve(1, { reservation: "first" })).to.deep.equal([]);
    expect((await t.reserve(1, { reservation: "second", lane: 1 }))[0]?.fence).to.equal(retaken?.fence);
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
        await t9.engine.maintenance.tick(0);
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

  it("starts when it is due if it is scheduled, not before", async () => {
    await t.submit({ id: "later", delayMs: 80 });
    expect(await t.engine.inspector.inspect("later", { result: false })).to.include({
      state: "scheduled",
      index: null,
    });
    expect(await t.reserve(1)).to.deep.equal([]);
    const due = (await look("later")).dueMs ?? 0;
    for (;;) {
      await t.engine.maintenance.tick(0);
      const seen = await look("later");
      if (seen.nowMs < due) expect(seen.state).to.equal("scheduled");
      else if (seen.state === "waiting") break;
    }
    expect((await take()).id).to.equal("later");
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
    await t.engine.maintenance.tick(0);
    const taken = await t.reserve(2);
    expect(taken.map(({ id }) => id).sort()).to.deep.equal(["failed", "lost"]);
  });
});
