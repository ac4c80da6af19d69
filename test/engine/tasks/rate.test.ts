import { expect } from "chai";
import { watchedTasks } from "../../../src/engine/watch/watch.ts";
import { Watchers } from "../../../src/engine/watch/watchers.ts";
import { runOf } from "../../../src/store/task/record.ts";
import { openEngine, type TestEngine } from "../../helpers/engine.ts";
import { TASK } from "../../helpers/store/stored.ts";

const rate = { max: 5, perMs: 60_000 };
const HOUR_MS = 3_600_000;

describe("the rate of a queue", () => {
  let t: TestEngine;
  afterEach(() => t.close());
  let requests = 0;

  const take = (options: { count?: number; reservation?: string; perMs?: number } = {}) => {
    requests += 1;
    const { count = 10, reservation = `q${requests}`, perMs = rate.perMs } = options;
    const request = { queue: "jobs", worker: "w1", reservation, count, leaseMs: 60_000 };
    return t.engine.leases.reserve({ ...request, rate: { ...rate, perMs } });
  };
  const fill = async (count: number) => {
    for (let n = 0; n < count; n += 1) await t.submit();
  };

  it("holds however many workers ask at once, with several partitions too", async () => {
    t = await openEngine({ partitions: 8 });
    await fill(40);
    const all = await Promise.all(Array.from({ length: 20 }, () => take()));
    expect(all.reduce((sum, { tasks }) => sum + tasks.length, 0)).to.equal(rate.max);
    for (const { pauseMs, tasks } of all) if (tasks.length === 0) expect(pauseMs).to.be.within(1, rate.perMs);
  });

  it("says when more may start, also to who asks for more than the total of the queue has room for", async () => {
    t = await openEngine({ settings: { total: 8 } });
    // Registers the total.
    await t.engine.upkeep.tick(0);
    await fill(9);
    const first = await take();
    expect([first.tasks.length, first.waiting]).to.deep.equal([rate.max, 4]);
    const second = await take();
    expect([second.tasks.length, second.waiting]).to.deep.equal([0, 4]);
    expect(second.pauseMs).to.be.within(1, rate.perMs);
  });

  it("allows as many starts again when the span is over, and no sooner", async () => {
    t = await openEngine();
    await fill(60);
    const perMs = 400;
    const starts: number[] = [];
    while (starts.length < 15) {
      const { tasks } = await take({ perMs });
      for (const { id } of tasks) {
        const run = await t.redis.hget(t.key("task", id), TASK.run);
        starts.push(runOf(run ?? "").startedMs ?? Number.NaN);
      }
    }
    for (const [n, at] of starts.entries()) {
      const sixth = starts[n + rate.max];
      if (sixth !== undefined) expect(sixth - at).to.be.at.least(perMs);
    }
  });

  it("is not used up by empty reservations or resent requests", async () => {
    t = await openEngine();
    for (let n = 0; n < 9; n += 1) await take();
    await fill(30);
    const first = await take({ count: 2, reservation: "again" });
    expect(first.tasks).to.have.length(2);
    const second = await take({ count: 2, reservation: "again" });
    expect(second.tasks.map(({ id }) => id)).to.deep.equal(first.tasks.map(({ id }) => id));
    expect((await take()).tasks).to.have.length(3);
    expect((await take()).tasks).to.have.length(0);
  });

  it("waits one span after the clock was set back by an hour", async () => {
    t = await openEngine();
    await fill(30);
    await take();
    const ahead = Date.now() + HOUR_MS;
    for (let n = 0; n < rate.max; n += 1) await t.redis.lset(t.key("starts"), n, ahead);
    for (let n = 0; n < 2; n += 1) {
      const { tasks, pauseMs } = await take();
      expect(tasks).to.deep.equal([]);
      expect(pauseMs).to.be.at.most(rate.perMs);
    }
    const times = await t.redis.lrange(t.key("starts"), 0, -1);
    expect(times).to.have.length(rate.max);
    for (const time of times) expect(Number(time)).to.be.below(ahead - HOUR_MS / 2);
  });
});

describe("a watcher whose store's clock is set back", () => {
  it("goes on noticing changes", async () => {
    const t = await openEngine();
    let back = 0;
    const { engine } = t;
    const inspect: typeof engine.inspector.inspect = async (id, wanted) => {
      const seen = await engine.inspector.inspect(id, wanted);
      return seen && { ...seen, nowMs: seen.nowMs - back };
    };
    const inspector = { inspect, attend: engine.inspector.attend.bind(engine.inspector) };
    const parts = { inspector, notices: engine.notices, queues: engine.queues };
    const watchers = new Watchers(watchedTasks(parts), { passMs: 20 });
    await t.submit({ id: "a" });
    const watch = await watchers.watch({ id: "a", queue: "jobs" });
    expect(watch.seen?.state).to.equal("waiting");
    back = HOUR_MS;
    await t.reserve();
    await watch.next();
    expect(watch.seen?.state).to.equal("running");
    watch.stop();
    await t.close();
  });
});
