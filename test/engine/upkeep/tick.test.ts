import { expect } from "chai";
import { SHARED } from "../../../src/store/constants.ts";
import { TASK_FIELDS } from "../../../src/store/fields.ts";
import { BATCH_LIMIT } from "../../../src/store/library/verb.ts";
import { openEngine, type TestEngine } from "../../helpers/engine.ts";

const EACH = 120;
const HOUR_MS = 3_600_000;

describe("a tick with much to do", () => {
  let t: TestEngine;
  beforeEach(async () => {
    t = await openEngine({ settings: { keyedConcurrency: 1, maxLost: 5 } });
  });
  afterEach(() => t.close());

  const submitAll = (name: string, options: object) =>
    Promise.all(
      Array.from({ length: EACH }, (_, n) =>
        t.submit({ id: `${name}${n}`, key: `${name}${n}`, share: { key: `${n % 7}`, weight: 1 }, ...options }),
      ),
    );
  const pass = async (kind: "scheduled" | "leases" | "deadlines") => {
    const members = await t.redis.zrange(t.key(kind), "0", "-1");
    await t.redis.zadd(t.key(kind), ...members.flatMap((id) => [1, id]));
  };

  it("does a part of it, whatever the work is, and the rest in ticks that follow at once", async () => {
    await submitAll("lost", {});
    for (let taken = 0; taken < EACH; ) taken += (await t.reserve(100, { reservation: `r${taken}` })).length;
    await submitAll("due", { delayMs: HOUR_MS });
    await submitAll("late", { deadlineMs: HOUR_MS, webhook: "https://example.com/" });
    await pass("scheduled");
    await pass("leases");
    const late = await t.redis.zrange(t.key("deadlines"), "0", "-1");
    await pass("deadlines");
    for (const id of late) await t.redis.hset(t.key("task", id), TASK_FIELDS.deadline[0], 1);
    const done = { late: 0, promoted: 0, lost: 0 };
    for (let ticks = 1; ; ticks += 1) {
      const { late, promoted, lost, nextMs } = await t.engine.upkeep.tick(0);
      const work = SHARED.moveWork * (late.length + lost.length) + 2 * promoted;
      expect(work).to.be.at.most(BATCH_LIMIT);
      done.late += late.length;
      done.promoted += promoted;
      done.lost += lost.length;
      if (nextMs !== 0) break;
      expect(work).to.be.above(BATCH_LIMIT - SHARED.moveWork);
      expect(ticks).to.be.at.most(20);
    }
    expect(done).to.deep.equal({ late: EACH, promoted: EACH, lost: EACH });
  });
});

describe("a tick", () => {
  let t: TestEngine;
  beforeEach(async () => {
    t = await openEngine({ partitions: 2 });
  });
  afterEach(() => t.close());

  it("tells those who take tasks of a queue that some wait, until they leave", async () => {
    const { upkeep } = t.engine;
    const told: string[] = [];
    const leave = ["first", "second"].map((who) => upkeep.onNews("jobs", () => void told.push(who)));
    upkeep.onNews("others", () => void told.push("others"));
    await t.submit({ id: "a" });
    expect(told.splice(0), "a submission of this process").to.deep.equal(["first", "second"]);
    const home = t.keys.partitionOfQueue("jobs");
    for (const partition of [home, 1 - home]) await upkeep.tick(partition);
    expect(told).to.deep.equal(["first", "second"]);
    leave[0]?.();
    await upkeep.tick(home);
    expect(told.slice(2)).to.deep.equal(["second"]);
  });

  it("tells them of a lease of which less than half is left, while it is held", async () => {
    const { upkeep } = t.engine;
    const told: string[] = [];
    upkeep.onNews("jobs", (news) => void told.push(news));
    const [home, leaseMs] = [t.keys.partitionOfQueue("jobs"), t.engine.queues.settings("jobs").leaseMs];
    const news = async (leftMs: number) => {
      await t.redis.zadd(t.key("leases"), "XX", Date.now() + leftMs, "a");
      await upkeep.tick(home);
      return told.splice(0);
    };
    await t.submit({ id: "a" });
    await t.reserve(1, { leaseMs });
    told.splice(0);
    expect(await news(leaseMs * 0.6)).to.deep.equal([]);
    expect(await news(leaseMs * 0.4)).to.deep.equal(["loss"]);
    // As a worker over HTTP that asks for shorter leases.
    await t.redis.hset(t.key("task", "a"), TASK_FIELDS.lease[0], leaseMs * 0.6);
    expect(await news(leaseMs * 0.4)).to.deep.equal([]);
    expect(await news(0), "it has ended").to.deep.equal([]);
  });

  it("is wanted by those who hear that something will be due, until they leave", async () => {
    const { upkeep } = t.engine;
    const due: [number, number][] = [];
    const leave = upkeep.onDue((partition, delayMs) => due.push([partition, delayMs]));
    await t.submit({ id: "later", delayMs: HOUR_MS });
    await t.submit();
    const expected = [[t.keys.partitionOfQueue("jobs"), HOUR_MS]];
    expect(due).to.deep.equal(expected);
    leave();
    await t.submit({ delayMs: HOUR_MS });
    expect(due).to.deep.equal(expected);
  });
});
