import { expect } from "chai";
import { SHARED } from "../../src/store/constants.ts";
import { STATE_LETTERS } from "../../src/store/letters.ts";
import type { ReservedTask } from "../../src/store/verbs/reserve.ts";
import { failureOf, openEngine, resultOf, type TestEngine } from "../helpers/engine.ts";
import { QUEUE, TASK } from "../helpers/store/stored.ts";
import { eventually } from "../shared/eventually.ts";
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

  it("has inputs of any size and any bytes", async () => {
    const bytes = Buffer.from(Array.from({ length: 1024 * 1024 }, (_, n) => (n * 31) % 256));
    await t.submit({ id: "big", input: bytes, mediaType: "image/png" });
    await t.submit({ id: "tiny", input: Buffer.from([0, 255, 128]), mediaType: "image/png" });
    const [big, tiny] = await t.reserve(2);
    expect(big?.input.equals(bytes)).to.equal(true);
    expect(big?.mediaType).to.equal("image/png");
    expect(tiny?.input.equals(Buffer.from([0, 255, 128]))).to.equal(true);
  });

  it("can have __proto__ and other odd names as its id", async () => {
    for (const id of ["__proto__x", "constructor", "0", "a~b.c_d-e", "x".repeat(128)]) {
      expect((await t.submit({ id })).verdict).to.equal("new");
      expect((await look(id)).state).to.equal("waiting");
    }
  });

  it("answers a second completion with already, and a stale fence with stale", async () => {
    await t.submit({ id: "a" });
    const task = await take();
    const stale = { ...lease(task), fence: String(Number(task.fence) - 1) };
    expect(await t.engine.leases.complete(stale, resultOf("no"), t.settings)).to.equal("stale");
    expect(await t.engine.leases.complete(lease(task), resultOf("yes"), t.settings)).to.equal("done");
    expect(await t.engine.leases.complete(lease(task), resultOf("again"), t.settings)).to.equal("already");
    expect(await t.engine.leases.fail(lease(task), failureOf("retry"), t.settings)).to.equal("already");
    expect((await look("a")).result?.body.toString()).to.equal("yes");
  });

  it("answers the same reservation with the same tasks", async () => {
    await Promise.all(["a", "b", "c"].map((id) => t.submit({ id })));
    const first = await t.reserve(2, { reservation: "same" });
    const again = await t.reserve(2, { reservation: "same" });
    expect(again.map((task) => [task.id, task.fence])).to.deep.equal(first.map((task) => [task.id, task.fence]));
    expect((await t.reserve(2, { reservation: "other" })).map((task) => task.id)).to.deep.equal(["c"]);
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
    await t.reserve(1, { reservation: "first", leaseMs: 1 });
    await eventually(async () => (await t.engine.maintenance.tick(0)).lost.length === 1);
    const [retaken] = await t.reserve(1, { reservation: "second", lane: 1 });
    expect(retaken).to.include({ id: "a", lost: 1 });
    expect(await t.reserve(1, { reservation: "first" })).to.deep.equal([]);
    expect((await t.reserve(1, { reservation: "second", lane: 1 }))[0]?.fence).to.equal(retaken?.fence);
  });

  it("recognizes the same submission, and refuses another one under its id", async () => {
    const long = JSON.stringify({ text: "x".repeat(500) });
    await t.submit({ id: "a", input: long });
    expect(await t.submit({ id: "a", input: long })).to.include({ verdict: "replay", state: "waiting", index: 0 });
    expect((await t.submit({ id: "a", input: `${long} ` })).verdict).to.equal("conflict");
    expect((await t.submit({ id: "a", input: long, queue: "other" })).verdict).to.equal("elsewhere");
    expect((await t.submit({ id: "a", input: long, caller: "bob" })).verdict).to.equal("foreign");
    const task = await take();
    await t.engine.leases.complete(lease(task), resultOf("ok"), t.settings);
    expect(await t.submit({ id: "a", input: long })).to.include({ verdict: "replay", state: "succeeded" });
    expect((await t.submit({ id: "a", input: "{}" })).verdict).to.equal("conflict");
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

  it("is retried after a failure, then is dead, with its input and last errors kept", async () => {
    await t.submit({ id: "a", input: '{"keep":"me"}' });
    expect(await t.engine.leases.fail(lease(await take()), failureOf("retry"), t.settings)).to.equal("retrying");
    expect((await look("a")).state).to.equal("retrying");
    await t.engine.maintenance.tick(0);
    const second = await take();
    expect(second.attempt).to.equal(2);
    expect(await t.engine.leases.fail(lease(second), failureOf("retry"), t.settings)).to.equal("dead");
    const seen = await look("a");
    expect(seen).to.include({ state: "failed", errorCode: "task-failed", attempts: 2 });
    expect(seen.result?.status).to.equal(500);
    expect(await t.redis.zscore(t.key("dead", "jobs"), "a")).to.not.equal(null);
    expect(await t.redis.hget(t.key("task", "a"), TASK.input)).to.equal('{"keep":"me"}');
    expect(JSON.parse((await t.redis.hget(t.key("task", "a"), TASK.errors)) ?? "")).to.deep.equal(["boom", "boom"]);
  });

  it("does not count an attempt that ends with retryLater; one that gives up is not dead", async () => {
    await t.submit({ id: "a" });
    for (let n = 0; n < 4; n += 1) {
      const task = await take();
      expect(task.attempt).to.equal(1);
      expect(await t.engine.leases.fail(lease(task), failureOf("later"), t.settings)).to.equal("retrying");
      await t.engine.maintenance.tick(0);
    }
    expect(await t.engine.leases.fail(lease(await take()), failureOf("give-up"), t.settings)).to.equal("failed");
    expect(await t.redis.zcard(t.key("dead", "jobs"))).to.equal(0);
  });

  it("returns to its old place if its worker is lost, and is dead if that happens too often", async () => {
    await t.submit({ id: "a" });
    await t.submit({ id: "b" });
    const [first] = await t.reserve(1, { leaseMs: 1 });
    const ticked = await untilLost(t);
    expect(ticked).to.deep.include({ queue: "jobs", id: "a", worker: "w1", losses: 1, fate: "waiting" });
    expect(await look("a")).to.include({ state: "waiting", index: 0, lost: 1 });
    if (!first) throw new Error("nothing taken");
    expect(await t.engine.leases.complete(lease(first), resultOf("late"), t.settings)).to.equal("stale");
    const [again] = await t.reserve(1, { leaseMs: 1 });
    expect(again).to.include({ id: "a", attempt: 1, lost: 1 });
    expect(await untilLost(t)).to.include({ id: "a", losses: 2, fate: "dead" });
    expect(await look("a")).to.include({ state: "failed", errorCode: "worker-lost" });
  });

  it("returns to its old place if it is released, without counting the attempt", async () => {
    await Promise.all(["a", "b"].map((id) => t.submit({ id })));
    const task = await take();
    expect(await t.engine.call("release", { ...lease(task) })).to.equal("released");
    const again = await take();
    expect(again).to.include({ id: "a", attempt: 1 });
    expect(Number(again.fence)).to.be.above(Number(task.fence));
  });

  it("is canceled by state: removed from the line, asked to stop while running, deleted when finished", async () => {
    await Promise.all(["w", "r", "d"].map((id) => t.submit({ id })));
    await t.submit({ id: "s", delayMs: 60_000 });
    expect(await t.engine.call("cancel", { id: "w", queue: "jobs" })).to.equal("canceled");
    expect(await t.engine.call("cancel", { id: "s", queue: "jobs" })).to.equal("canceled");
    const running = await take();
    expect(await t.engine.call("cancel", { id: "r", queue: "jobs" })).to.equal("requested");
    expect(await t.engine.leases.renew(lease(running), 1000)).to.equal("cancel");
    expect(await t.engine.leases.complete(lease(running), resultOf("x"), t.settings)).to.equal("canceled");
    expect(await look("r")).to.include({ state: "canceled", result: null });
    await t.engine.leases.complete(lease(await take()), resultOf("x"), t.settings);
    expect(await t.engine.call("cancel", { id: "d", queue: "jobs" })).to.equal("deleted");
    expect(await t.engine.call("cancel", { id: "d", queue: "jobs" })).to.equal("already");
    expect(await look("d")).to.include({ state: "succeeded", deleted: true, result: null });
    expect(await t.engine.call("cancel", { id: "nobody", queue: "jobs" })).to.equal("unknown");
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

  it("is promoted in several calls if a hundred thousand are due at one instant, and none is lost", async function () {
    this.timeout(60_000);
    const total = 100_000;
    const stored = {
      [TASK.queue]: "jobs",
      [TASK.state]: STATE_LETTERS.scheduled,
      [TASK.created]: 1,
      [TASK.input]: "1",
      [TASK.place]: String(SHARED.defaultPriority * SHARED.classSpan),
    };
    for (let n = 0; n < total; n += 1000) {
      const pipeline = t.redis.pipeline();
      for (let k = n; k < n + 1000; k += 1) {
        pipeline.hset(t.key("task", `d${k}`), stored);
        pipeline.zadd(t.key("scheduled", "jobs"), 1, `d${k}`);
      }
      await pipeline.exec();
    }
    let promoted = 0;
    while (promoted < total) promoted += (await t.engine.maintenance.tick(0)).promoted;
    expect(await t.redis.zcard(t.key("waiting", "jobs"))).to.equal(total);
    expect(await t.redis.zcard(t.key("scheduled", "jobs"))).to.equal(0);
  });

  it("is refused beyond the queue's limit or the caller's longest line, and not stored", async () => {
    const small = await openEngine({ settings: { maxWaiting: 2 } });
    try {
      await small.submit({ id: "a" });
      await small.submit({ id: "b", delayMs: 1000 });
      expect((await small.submit({ id: "c" })).verdict).to.equal("full");
      expect(await small.engine.inspector.inspect("c", { result: false })).to.equal(null);
      expect((await small.submit({ id: "a" })).verdict).to.equal("replay");
    } finally {
      await small.close();
    }
    await t.submit({ id: "x" });
    await t.submit({ id: "y" });
    expect(await t.submit({ id: "z", maxIndex: 1 })).to.include({ verdict: "long", index: 2 });
    expect((await t.submit({ id: "z", maxIndex: 2 })).verdict).to.equal("new");
    expect(await t.submit({ id: "dry", dryRun: true })).to.include({ verdict: "dry", index: 3 });
    expect(await t.engine.inspector.inspect("dry", { result: false })).to.equal(null);
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

async function untilLost(t: TestEngine) {
  for (;;) {
    const [lost] = (await t.engine.maintenance.tick(0)).lost;
    if (lost) return lost;
  }
}
