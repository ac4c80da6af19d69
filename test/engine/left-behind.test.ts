import { expect } from "chai";
import { openEngine, resultOf, type TestEngine } from "../helpers/engine.ts";
import { QUEUE, TASK } from "../helpers/store/stored.ts";

describe("what a task leaves behind in the store", () => {
  let t: TestEngine;
  beforeEach(async () => {
    t = await openEngine({ settings: { attempts: 1 } });
  });
  afterEach(() => t.close());

  it("is counted as healed if it is only its place in line", async () => {
    await t.submit({ id: "first" });
    await t.redis.del(t.key("task", "first"));
    await t.submit({ id: "second" });
    expect((await t.reserve(2)).map(({ id }) => id)).to.deep.equal(["second"]);
    expect(await t.redis.hget(t.key("queue"), QUEUE.healed)).to.equal("1");
  });
});

describe("what is left behind in the indexes of a queue", () => {
  let t: TestEngine;
  beforeEach(async () => {
    t = await openEngine();
  });
  afterEach(() => t.close());

  it("is no entry of a task that has ended, has gone, or has no deadline: none of them is canceled", async () => {
    await t.submit({ id: "ended", deadlineMs: 60_000 });
    const [task] = await t.reserve();
    await t.engine.leases.complete({ queue: "jobs", id: "ended", fence: task?.fence ?? "" }, resultOf("x"), t.settings);
    await t.submit({ id: "waiting" });
    for (const id of ["ended", "gone", "waiting"]) await t.redis.zadd(t.key("deadlines"), 1, id);
    await t.redis.hset(t.key("task", "ended"), TASK.deadline, 1);
    expect((await t.engine.upkeep.tick(0)).late).to.deep.equal([]);
    expect((await t.look("ended")).state).to.equal("succeeded");
    expect((await t.look("waiting")).state).to.equal("waiting");
    expect(await t.redis.exists(t.key("deadlines"))).to.equal(0);
  });

  it("is nothing of a trial, of a refused submission, or of none at all", async () => {
    await t.submit({ id: "trial", dryRun: true });
    await t.submit({ id: "refused", maxIndex: -1 });
    expect(await t.redis.exists(t.key("queue"), t.key("task", "trial"), t.key("task", "refused"))).to.equal(0);
  });
});

describe("the slots of a queue", () => {
  let t: TestEngine;
  beforeEach(async () => {
    t = await openEngine();
  });
  afterEach(() => t.close());

  const beat = (worker: string, ttlMs: number, again = false) =>
    t.scripts.heartbeat(t.keys.tag(0), {
      worker,
      ttlMs,
      about: "",
      again,
      quiet: false,
      slots: new Map([["jobs", 2]]),
    });
  const live = async () => {
    const { snapshot } = (await t.engine.queues.figures(["jobs"]))[0] ?? {};
    return { workers: snapshot?.workers, slots: snapshot?.slots };
  };

  it("are not fewer if a worker leaves that was not there", async () => {
    await beat("w1", 60_000);
    await beat("w2", 0);
    expect(await live()).to.deep.equal({ workers: 1, slots: 2 });
  });

  it("are counted again for a worker that goes on after the store has lost it, or lost all of them", async () => {
    await beat("w1", 60_000, true);
    expect(await live()).to.deep.equal({ workers: 1, slots: 2 });
    await t.redis.del(t.key("workers"));
    await beat("w1", 60_000, true);
    expect(await live()).to.deep.equal({ workers: 1, slots: 2 });
  });
});

describe("what a worker that leaves has left behind", () => {
  it("is nothing of what it has reported about itself", async () => {
    const t = await openEngine();
    try {
      const tag = t.keys.tag(0);
      const slots = new Map([["jobs", 2]]);
      await t.scripts.heartbeat(tag, {
        worker: "w1",
        ttlMs: 60_000,
        about: '{"host":"h"}',
        again: false,
        quiet: false,
        slots,
      });
      expect(await t.redis.exists(t.key("about", "w1"))).to.equal(1);
      await t.scripts.heartbeat(tag, { worker: "w1", ttlMs: 0, about: "", again: false, quiet: false, slots });
      expect(await t.redis.exists(t.key("about", "w1"))).to.equal(0);
    } finally {
      await t.close();
    }
  });
});
