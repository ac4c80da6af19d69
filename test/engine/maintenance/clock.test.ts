import { expect } from "chai";
import { StoreClock } from "../../../src/engine/maintenance/store-clock.ts";
import { verify } from "../../../src/engine/maintenance/verify.ts";
import { groupsOf } from "../../../src/extras/groups/groups.ts";
import * as GROUPS from "../../../src/extras/groups/verbs.ts";
import { failureOf, openEngine, type TestEngine } from "../../helpers/engine.ts";
import { type ClockedRedis, canSetClocks, startClockedRedis } from "../../helpers/store/clocked-redis.ts";
import { GROUP } from "../../helpers/store/stored.ts";
import { eventually } from "../../shared/eventually.ts";

const HOUR_MS = 3_600_000;
const MANY = 2000;

describe("what is known of the clock of a store", () => {
  /** The store said this in a call of so many ms, which ended at a time of ours. */
  const noted = (clock: StoreClock, storeMs: number, endMs: number, callMs = 10) =>
    clock.note(storeMs, { sentMs: endMs - callMs, receivedMs: endMs }, clock.at(endMs - callMs).jump);

  it("is the least that it can show, by our own clock", () => {
    const clock = new StoreClock();
    expect(clock.at(0)).to.deep.equal({ expectedMs: undefined, jump: undefined });
    noted(clock, 5000, 100);
    expect(clock.at(1100)).to.deep.equal({ expectedMs: 6000, jump: undefined });
  });

  it("includes a jump forward, reported once", () => {
    const clock = new StoreClock();
    noted(clock, 5000, 100);
    noted(clock, 66_000, 1100);
    expect(clock.at(2000)).to.deep.equal({ expectedMs: 66_900, jump: { fromMs: 5990, toMs: 66_000 } });
    noted(clock, 67_000, 2100);
    expect(clock.at(3000).jump).to.equal(undefined);
  });

  it("includes no jump if a call took long, or this process was suspended", () => {
    const clock = new StoreClock();
    noted(clock, 5000, 100);
    noted(clock, 15_000, 11_000, 10_900);
    noted(clock, 65_000, 60_100);
    expect(clock.at(61_000).jump).to.equal(undefined);
  });
});

describe("a store whose clock is set forward by an hour", function () {
  this.timeout(60_000);
  let store: ClockedRedis;
  let t: TestEngine;

  before(async function () {
    if (!canSetClocks()) return this.skip();
    store = await startClockedRedis();
    t = await openEngine({ url: store.url, settings: { leaseMs: 2000 } });
  });
  after(async () => {
    await t?.close();
    await store?.stop();
  });

  it("returns the task of a dead worker one lease later", async () => {
    await t.submit({ id: "a" });
    await t.reserve(1, { leaseMs: 2000 });
    await t.engine.maintenance.tick(0);
    store.setAhead(HOUR_MS);
    const jumpedAt = performance.now();
    await eventually(async () => (await t.engine.maintenance.tick(0)).lost.length === 1);
    expect(performance.now() - jumpedAt).to.be.above(1900);
    expect(await t.look("a")).to.include({ state: "waiting", lost: 1 });
  });

  it("does not let a newly started process end earlier leases", async () => {
    await t.reserve(1, { leaseMs: 2000 });
    await t.engine.maintenance.tick(0);
    store.setAhead(2 * HOUR_MS);
    const fresh = await openEngine({ url: store.url, prefix: t.keys.prefix });
    expect((await fresh.engine.maintenance.tick(0)).lost).to.deep.equal([]);
    await t.engine.maintenance.tick(0);
    expect((await t.engine.maintenance.tick(0)).lost).to.deep.equal([]);
    expect(await t.look("a")).to.include({ state: "running" });
    await fresh.close();
  });
});

describe("a store whose clock was set forward while a tick was on its way", () => {
  it("begins a lease anew that was taken just before", async () => {
    const t = await openEngine({ settings: { leaseMs: 2000 } });
    await t.engine.maintenance.tick(0);
    await t.submit({ id: "a" });
    await t.reserve(1, { leaseMs: 2000 });
    const nowMs = Date.now();
    await t.redis.zadd(t.key("leases"), "XX", nowMs - 10, "a");
    await t.redis.hset(t.key("ticked"), { from: nowMs - 2011, to: nowMs - 1000 });
    expect((await t.engine.maintenance.tick(0)).lost).to.deep.equal([]);
    expect(Number(await t.redis.zscore(t.key("leases"), "a"))).to.be.above(nowMs + 900);
    await t.close();
  });
});

describe("a store whose clock was set back long ago", () => {
  it("lets a task wait for its next attempt as long as it was told", async () => {
    const t = await openEngine({ settings: { attempts: 2 } });
    const nowMs = Date.now();
    await t.redis.hset(t.key("ticked"), "back", `${nowMs - HOUR_MS} ${nowMs - 3 * HOUR_MS} ${2 * HOUR_MS}`);
    await t.submit({ id: "a" });
    const [task] = await t.reserve(1);
    const lease = { queue: "jobs", id: "a", fence: task?.fence ?? "" };
    await t.engine.leases.fail(lease, failureOf("retry", HOUR_MS), t.settings);
    await t.engine.maintenance.tick(0);
    expect(Number(await t.redis.zscore(t.key("scheduled"), "a"))).to.be.at.least(nowMs + HOUR_MS);
    await t.close();
  });
});

describe("a store whose clock is set back by an hour", function () {
  this.timeout(60_000);
  let store: ClockedRedis;
  let t: TestEngine;

  before(async function () {
    if (!canSetClocks()) return this.skip();
    store = await startClockedRedis();
  });
  beforeEach(async () => {
    store.setAhead(HOUR_MS);
    t = await openEngine({ url: store.url, settings: { leaseMs: 1000 } });
    // It registers its queue, and notes what the clock says.
    await t.engine.maintenance.tick(0);
  });
  afterEach(() => t.close());
  after(() => store?.stop());

  const stateOf = async (id: string) => (await t.look(id)).state;
  /** Ticks until something holds. */
  const ticking = (holds: () => Promise<boolean>) =>
    eventually(async () => {
      await t.engine.maintenance.tick(0);
      return await holds();
    });

  it("returns the task of a dead worker after its lease", async () => {
    await t.submit({ id: "a" });
    await t.reserve(1, { leaseMs: 1000 });
    store.setAhead(0);
    await ticking(async () => (await stateOf("a")) === "waiting");
    expect(await t.look("a")).to.include({ lost: 1 });
  });

  it("returns the task of a dead worker whose lease had ended in a grace", async () => {
    await t.submit({ id: "a" });
    await t.reserve(1, { leaseMs: 1000 });
    const nowMs = Date.now() + HOUR_MS;
    await t.redis.zadd(t.key("leases"), "XX", nowMs - 5000, "a");
    // As if no tick had run for a while.
    await t.redis.hset(t.key("ticked"), "at", nowMs - 10_000);
    expect((await t.engine.maintenance.tick(0)).lost).to.deep.equal([]);
    store.setAhead(0);
    await ticking(async () => (await stateOf("a")) === "waiting");
    expect(await t.look("a")).to.include({ lost: 1 });
  });

  it("and then forward, takes no earlier jump forward for the last one", async () => {
    await t.submit({ id: "a" });
    await t.reserve(1, { leaseMs: 1000 });
    await t.redis.hset(t.key("ticked"), { from: Date.now() - 10 * HOUR_MS, to: Date.now() + HOUR_MS / 2 });
    store.setAhead(0);
    await t.engine.maintenance.tick(0);
    await t.redis.zadd(t.key("leases"), "XX", Date.now() - 10, "a");
    store.setAhead(HOUR_MS);
    await ticking(async () => (await stateOf("a")) === "waiting");
  });

  it("does not end a renewed lease", async () => {
    await t.submit({ id: "a" });
    const [task] = await t.reserve(1, { leaseMs: 1000 });
    const lease = { queue: "jobs", id: "a", fence: task?.fence ?? "" };
    store.setAhead(0);
    expect(await t.engine.leases.renew(lease, HOUR_MS / 2)).to.equal("ok");
    for (let n = 0; n < 5; n += 1) expect((await t.engine.maintenance.tick(0)).lost).to.deep.equal([]);
    expect(Number(await t.redis.zscore(t.key("leases"), "a"))).to.be.above(Date.now() + HOUR_MS / 4);
  });

  it("retries a task after its pause, and keeps the due time of a scheduled one", async () => {
    await t.submit({ id: "scheduled", delayMs: 2 * HOUR_MS });
    const due = await t.redis.zscore(t.key("scheduled"), "scheduled");
    await t.submit({ id: "retried" });
    const [task] = await t.reserve(1);
    const lease = { queue: "jobs", id: "retried", fence: task?.fence ?? "" };
    expect(await t.engine.leases.fail(lease, failureOf("retry", 1000), t.settings)).to.equal("retrying");
    store.setAhead(0);
    await ticking(async () => (await stateOf("retried")) === "waiting");
    expect(await t.redis.zscore(t.key("scheduled"), "scheduled")).to.equal(due);
    expect(await stateOf("scheduled")).to.equal("scheduled");
  });

  it("says of a member of a group that it is due as soon as it will be", async () => {
    const group = await groupsOf(t.engine).open({ id: null, caller: null, webhook: null }, t.settings);
    if (typeof group === "string") throw new Error(group);
    await t.submit({ id: "retried", member: { group: group.id, line: 0 } });
    const [task] = await t.reserve(1);
    const lease = { queue: "jobs", id: "retried", fence: task?.fence ?? "" };
    await t.engine.leases.fail(lease, failureOf("retry", HOUR_MS / 2), t.settings);
    store.setAhead(0);
    await ticking(async () => Number(await t.redis.zscore(t.key("scheduled"), "retried")) < Date.now() + HOUR_MS);
    expect((await verify(t.redis, t.scripts, t.keys, { heal: false })).disagreeing).to.deep.equal([]);
  });

  it("makes neither a key nor the rest of its line wait longer", async () => {
    await t.close();
    t = await openEngine({ url: store.url, settings: { keyedConcurrency: 1, leaseMs: 1000 } });
    await t.engine.maintenance.tick(0);
    for (const id of ["a", "b"]) await t.submit({ id, key: "k" });
    const [task] = await t.reserve(1);
    await t.engine.leases.fail(
      { queue: "jobs", id: "a", fence: task?.fence ?? "" },
      failureOf("retry", 500),
      t.settings,
    );
    store.setAhead(0);
    await ticking(async () => (await stateOf("a")) === "waiting");
    const [again] = await t.reserve(1);
    expect(again?.id).to.equal("a");
  });

  it("and once more before all was brought forward, leaves nothing late", async () => {
    const ids = Array.from({ length: 300 }, (_, n) => `retried-${n}`);
    for (const id of ids) await t.submit({ id });
    for (let n = 0; n < ids.length; n += 100) {
      const tasks = await t.reserve(100, { leaseMs: HOUR_MS });
      const failed = tasks.map(({ id, fence }) =>
        t.engine.leases.fail({ queue: "jobs", id, fence }, failureOf("retry", 10_000), t.settings),
      );
      await Promise.all(failed);
    }
    await t.redis.zadd(t.key("leases"), ...ids.flatMap((id) => [Date.now() + HOUR_MS + 1000, `x-${id}`]));
    store.setAhead(0);
    expect(await t.engine.maintenance.tick(0)).to.include({ nextMs: 0 });
    store.setAhead(-HOUR_MS);
    const late = async (kind: "leases" | "scheduled") =>
      await t.redis.zcount(t.key(kind), Date.now() - HOUR_MS + 60_000, "+inf");
    await ticking(async () => (await late("leases")) + (await late("scheduled")) === 0);
    expect(await t.redis.zcard(t.key("scheduled")), "none before its pause is over").to.equal(ids.length);
  });

  it("closes groups that are left open, and goes on canceling others", async () => {
    const open = async () => {
      const group = await groupsOf(t.engine).open({ id: null, caller: null, webhook: null }, t.settings);
      if (typeof group === "string") throw new Error(group);
      return group.id;
    };
    const [left, canceled] = [await open(), await open()];
    for (const [line, id] of ["a", "b", "c"].entries()) await t.submit({ id, member: { group: canceled, line } });
    expect(await t.scripts.of(GROUPS).cancelGroup(t.keys.tag(0), { id: canceled, max: 1 })).to.equal("more");
    store.setAhead(0);
    await ticking(async () => (await stateOf("b")) === "canceled" && (await stateOf("c")) === "canceled");
    const openMs = Number(await t.redis.hget(t.key("group", left), GROUP.openMs));
    expect(Number(await t.redis.zscore(t.key("groups", ""), left))).to.be.within(1, Date.now() + openMs);
  });

  it("keeps the dead letters in the order in which they died", async () => {
    const minuteAgo = Date.now() + HOUR_MS - 60_000;
    await t.redis.zadd(t.key("dead"), `${minuteAgo}`, "first", `${minuteAgo + 1}`, "second");
    store.setAhead(0);
    await ticking(async () => Number(await t.redis.zscore(t.key("dead"), "second")) < Date.now());
    await t.redis.zadd(t.key("dead"), Date.now(), "third");
    expect(await t.redis.zrange(t.key("dead"), "0", "-1")).to.deep.equal(["first", "second", "third"]);
  });

  it("brings a part of the entries forward in each call, until all are done", async () => {
    const members = Array.from({ length: MANY }, (_, n) => [Date.now() + HOUR_MS + 1000, `t${n}`]).flat();
    await t.redis.zadd(t.key("leases"), ...members);
    store.setAhead(0);
    const behind = () => t.redis.zcount(t.key("leases"), Date.now() + 60_000, "+inf");
    const left: number[] = [];
    for (let before = MANY; before > 0; before = left.at(-1) ?? 0) {
      const { nextMs } = await t.engine.maintenance.tick(0);
      left.push(await behind());
      expect(before - (left.at(-1) ?? 0), "brought forward by one call").to.be.below(MANY / 4);
      if (left.at(-1)) expect(nextMs).to.equal(0);
    }
    expect(left.length).to.be.above(4);
  });
});
