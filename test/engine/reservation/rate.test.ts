import { expect } from "chai";
import { Watchers } from "../../../src/engine/watching/watchers.ts";
import { runOf } from "../../../src/store/run.ts";
import { openEngine, type TestEngine } from "../../helpers/engine.ts";
import { storedKey, TASK } from "../../helpers/store/stored.ts";

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
    return t.engine.leases.reserve(t.keys.partitionOfQueue("jobs"), { ...request, rate: { ...rate, perMs } });
  };
  const fill = async (count: number) => {
    for (let n = 0; n < count; n += 1) await t.submit();
  };
  /** So many workers ask at once. */
  const startsOf = async (workers: number, perMs?: number) => {
    const taken = await Promise.all(Array.from({ length: workers }, () => take(perMs === undefined ? {} : { perMs })));
    return { starts: taken.reduce((sum, { tasks }) => sum + tasks.length, 0), taken };
  };

  it("holds however many workers ask at once", async () => {
    t = await openEngine({ partitions: 8 });
    await fill(80);
    const all = await Promise.all([startsOf(8), startsOf(8), startsOf(8)]);
    await startsOf(8);
    const [row] = await t.engine.queues.figures(["jobs"]);
    expect(row?.snapshot.running).to.equal(5);
    for (const { pauseMs, tasks } of all.flatMap(({ taken }) => taken)) {
      if (tasks.length === 0) expect(pauseMs).to.be.within(1, rate.perMs);
    }
  });

  it("allows as many starts again when the span is over, and no sooner", async () => {
    t = await openEngine({ partitions: 3 });
    await fill(60);
    const perMs = 400;
    const starts: number[] = [];
    while (starts.length < 15) {
      const { taken } = await startsOf(3, perMs);
      for (const { tasks } of taken) {
        for (const { id } of tasks) {
          const run = await t.redis.hget(t.keys.start(t.keys.tagOfQueue("jobs"), "task") + id, TASK.run);
          starts.push(runOf(run ?? "").startedMs ?? Number.NaN);
        }
      }
    }
    starts.sort((a, b) => a - b);
    for (const [n, at] of starts.entries()) {
      const sixth = starts[n + rate.max];
      if (sixth !== undefined) expect(sixth - at).to.be.at.least(perMs);
    }
  });

  it("is not used up by empty reservations or resent requests", async () => {
    t = await openEngine({ partitions: 3 });
    for (let n = 0; n < 3; n += 1) await startsOf(3);
    await fill(30);
    const first = await take({ count: 2, reservation: "again" });
    expect(first.tasks).to.have.length(2);
    const second = await take({ count: 2, reservation: "again" });
    expect(second.tasks.map(({ id }) => id)).to.deep.equal(first.tasks.map(({ id }) => id));
    expect((await take()).tasks).to.have.length(3);
    expect((await take()).tasks).to.have.length(0);
  });

  for (const partitions of [1, 3]) {
    it(`waits one span after the clock was set back by an hour, with ${partitions} partitions`, async () => {
      t = await openEngine({ partitions });
      await fill(30);
      await startsOf(partitions);
      const ahead = Date.now() + HOUR_MS;
      for (const tag of t.keys.tags) {
        const [list, set] = [storedKey(tag, "starts"), storedKey(tag, "permits")];
        const length = await t.redis.llen(list);
        for (let n = 0; n < length; n += 1) await t.redis.lset(list, n, ahead);
        for (const member of await t.redis.zrange(set, "0", "-1")) await t.redis.zadd(set, ahead, member);
      }
      for (let n = 0; n < 2; n += 1) {
        const { starts, taken } = await startsOf(partitions);
        expect(starts).to.equal(0);
        for (const { pauseMs } of taken) expect(pauseMs).to.be.at.most(rate.perMs);
      }
      const times = await Promise.all(
        t.keys.tags.map(async (tag) => [
          ...(await t.redis.lrange(storedKey(tag, "starts"), 0, -1)),
          ...(await t.redis.zrange(storedKey(tag, "permits"), "0", "-1", "WITHSCORES")).filter((_, n) => n % 2 === 1),
        ]),
      );
      expect(times.flat()).to.have.length(rate.max);
      for (const time of times.flat()) expect(Number(time)).to.be.below(ahead - HOUR_MS / 2);
    });
  }
});

describe("a watcher whose store's clock is set back", () => {
  it("goes on noticing changes", async () => {
    const t = await openEngine();
    let back = 0;
    const { engine } = t;
    const inspect: typeof engine.tasks.inspect = async (id, wanted) => {
      const seen = await engine.tasks.inspect(id, wanted);
      return seen && { ...seen, nowMs: seen.nowMs - back };
    };
    const tasks = { inspect, attend: engine.tasks.attend.bind(engine.tasks) };
    const parts = { tasks, notices: engine.notices, queues: engine.queues };
    const watchers = new Watchers(parts, { passMs: 20 });
    await t.submit({ id: "a" });
    let told: (state: string | undefined) => void = () => undefined;
    const news = new Promise<string | undefined>((resolve) => {
      told = resolve;
    });
    const { first, stop } = await watchers.watch({ id: "a", queue: "jobs" }, (seen) => told(seen?.state));
    expect(first?.state).to.equal("waiting");
    back = HOUR_MS;
    await t.reserve();
    expect(await news).to.equal("running");
    stop();
    await t.close();
  });
});
