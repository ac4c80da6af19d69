import { expect } from "chai";
import { groupsOf } from "../../../src/extras/groups/groups.ts";
import * as GROUPS from "../../../src/extras/groups/verbs.ts";
import { openEngine, resultOf, type TestEngine } from "../../helpers/engine.ts";
import { GROUP } from "../../helpers/store/stored.ts";
import { eventually } from "../../shared/eventually.ts";
import { callsOn, close, fromStart } from "./calls-on.ts";

describe("a group of tasks", () => {
  let t: TestEngine;
  let of: ReturnType<typeof callsOn>;
  beforeEach(async () => {
    t = await openEngine({ settings: { attempts: 1 } });
    of = callsOn(t);
  });
  afterEach(async () => {
    try {
      expect(await of.verified()).to.deep.equal([]);
    } finally {
      await t.close();
    }
  });

  it("follows a member that waits for another attempt, is handed back, and moves", async () => {
    const group = await of.open();
    await of.join(group, "a", "b");
    await close(group);
    await of.fail("retry", 3, 60_000);
    expect(await of.countsOf(group)).to.deep.equal({ waiting: 1, retrying: 1 });
    await t.makeDue("a");
    await t.engine.upkeep.tick(0);
    expect(await of.countsOf(group)).to.deep.equal({ waiting: 2 });
    await t.engine.call("release", { ...(await of.take()) });
    await of.take();
    await t.endLease("a");
    await t.engine.upkeep.tick(0);
    expect(await of.countsOf(group)).to.deep.equal({ waiting: 2 });
    await t.submit({ id: "c" });
    await t.engine.submitter.move({ id: "a", queue: "jobs" }, { place: "last" });
    expect((await of.look(group)).index).to.equal(2);
    await t.engine.submitter.move({ id: "a", queue: "jobs" }, { delayMs: 60_000 });
    expect(await of.look(group)).to.deep.include({ index: 0 });
    expect(await of.countsOf(group)).to.deep.equal({ waiting: 1, scheduled: 1 });
  });

  it("knows since when a member runs whose handler begins some time after it was taken", async () => {
    const group = await of.open();
    await of.join(group, "a");
    await close(group);
    await t.engine.call("lose", await of.take());
    const request = { queue: "jobs", worker: "w1", reservation: "again", count: 1, leaseMs: 60_000 };
    const { tasks } = await t.engine.leases.reserve({ ...request, rate: undefined, suspectLeaseMs: 60_000 });
    const { id, fence } = tasks[0] ?? { id: "", fence: "" };
    const storeMs = async () =>
      (await t.redis.time()).map(Number).reduce((s, micros) => s * 1000 + Math.floor(micros / 1000));
    const takenMs = await storeMs();
    await eventually(async () => (await storeMs()) > takenMs);
    expect(await t.engine.call("begin", { queue: "jobs", id, fence, leaseMs: 60_000, apart: false })).to.equal("ok");
    expect(await of.verified()).to.deep.equal([]);
  });

  it("ends with its last member, however each ends", async () => {
    const group = await of.open();
    await of.join(group, "succeeds", "fails", "dies", "is-canceled", "is-late");
    await close(group);
    expect(await t.redis.exists(t.key("groups")), "no tick has to close it").to.equal(0);
    await of.complete();
    await of.fail("give-up", 1);
    await of.fail("retry", 1);
    await t.engine.call("cancel", { id: "is-canceled", queue: "jobs" });
    expect((await of.look(group)).state).to.equal("pending");
    await t.redis.hset(t.key("task", "is-late"), "D", "1");
    await t.redis.zadd(t.key("deadlines"), "1", "is-late");
    await t.engine.upkeep.tick(0);
    expect(await of.countsOf(group)).to.deep.equal({ succeeded: 1, failed: 2, canceled: 2 });
    const { state, expiresMs, percent } = await of.look(group);
    expect({ state, percent }).to.deep.equal({ state: "done", percent: 100 });
    // A dead task is kept longest.
    expect(expiresMs).to.equal((await t.look("dies")).expiresMs);
    expect(await t.redis.pttl(t.key("members", group.id))).to.be.greaterThan(t.settings.resultTtlMs);
    expect(await t.redis.pttl(t.key("group", group.id))).to.be.greaterThan(t.settings.deadTtlMs);
  });

  it("is pending again while a dead member runs again", async () => {
    const group = await of.open();
    await of.join(group, "a");
    await close(group);
    await of.fail("retry", 1);
    expect((await of.look(group)).state).to.equal("done");
    await t.engine.call("retry", { id: "a", queue: "jobs" });
    expect(await of.look(group)).to.deep.include({ state: "pending", index: 0, finishedMs: null, expiresMs: null });
    expect(await t.redis.pttl(t.key("group", group.id))).to.equal(-1);
    await of.complete();
    expect((await of.look(group)).state).to.equal("done");
    expect(await t.redis.pttl(t.key("memberStates", group.id))).to.be.greaterThan(0);
  });

  it("keeps nothing of a member that runs longer than the group is kept", async () => {
    const group = await of.open();
    await of.join(group, "a");
    await close(group);
    const keys = (["group", "members", "memberEnds", "memberStates", "memberLine"] as const).map((kind) =>
      t.key(kind, group.id),
    );
    await t.redis.unlink(...keys);
    await of.complete();
    expect(await t.redis.exists(...keys)).to.equal(0);
  });

  it("is not known to anyone until it has a member", async () => {
    const group = await of.open("g");
    expect(await groupsOf(t.engine).inspect("g")).to.equal(null);
    expect(await groupsOf(t.engine).cancel("g", "jobs")).to.equal("unknown");
    expect((await of.open("g")).createdMs, "for another batch of the caller").to.equal(group.createdMs);
    await close(group);
    expect(await t.redis.exists(t.key("group", "g"), t.key("groups"))).to.equal(0);
    await of.open("g");
    const eves = await groupsOf(t.engine).open({ id: "g", caller: "eve", webhook: null }, t.settings);
    expect(eves).to.deep.include({ state: "new" });
    expect(await of.join(group, "a"), "of the caller who came first").to.deep.equal(["closed"]);
  });

  it("takes members of several batches until it is closed, and none of another caller or queue", async () => {
    const group = await of.open("g");
    expect(await of.join(group, "a", "a")).to.deep.equal(["new", "replay"]);
    expect(await of.open("g")).to.deep.include({ createdMs: group.createdMs, state: "open", firstLine: 1 });
    const groups = groupsOf(t.engine);
    const other = { ...t.settings, queue: "others" };
    expect(await groups.open({ id: "g", caller: "eve", webhook: null }, t.settings)).to.equal("foreign");
    expect(await groups.open({ id: "g", caller: null, webhook: null }, other)).to.equal("elsewhere");
    await close(group);
    expect(await of.join(group, "b", "a")).to.deep.equal(["closed", "replay"]);
    expect(await of.open("g")).to.deep.include({ state: "closed" });
    expect((await of.look(group)).total).to.equal(1);
    expect(await t.engine.inspector.inspect("b", { result: false })).to.equal(null);
  });

  it("does not take a task that exists outside of it", async () => {
    const [group, other] = [await of.open(), await of.open("other")];
    await t.submit({ id: "a" });
    await of.join(other, "b");
    await of.join(group, "c");
    const again = ["a", "b", "c"].map((id, line) => t.submit({ id, member: { group: group.id, line } }));
    const verdicts = (await Promise.all(again)).map(({ verdict, group }) => [verdict, group]);
    expect(verdicts).to.deep.equal([null, "other", group.id].map((of) => ["replay", of]));
    expect((await of.look(group)).total).to.equal(1);
  });

  it("is closed by a tick if nobody has closed it for long", async () => {
    const group = await of.open();
    await of.join(group, "a");
    await of.complete();
    await t.engine.upkeep.tick(0);
    expect((await of.look(group)).state).to.equal("open");
    await t.redis.zadd(t.key("groups"), "1", group.id);
    await t.engine.upkeep.tick(0);
    expect((await of.look(group)).state).to.equal("done");
    expect(await t.redis.exists(t.key("groups"))).to.equal(0);
  });

  it("is canceled with all members that have not ended, and takes no more", async () => {
    const group = await of.open();
    const ids = Array.from({ length: 250 }, (_, n) => `m${n}`);
    await of.join(group, ...ids);
    await of.complete();
    const running = await of.take();
    expect(await groupsOf(t.engine).cancel(group.id, "jobs")).to.equal("canceled");
    expect((await of.look(group)).counts.waiting, "answered before all are canceled").to.be.greaterThan(0);
    await eventually(async () => (await of.look(group)).counts.waiting === 0);
    expect(await of.countsOf(group)).to.deep.equal({ running: 1, succeeded: 1, canceled: 248 });
    expect(await of.look(group)).to.deep.include({ state: "pending", cancelRequested: true });
    expect(await of.join(group, "more")).to.deep.equal(["closed"]);
    expect(await t.engine.leases.complete(running, resultOf("late"), t.settings)).to.equal("canceled");
    expect((await of.look(group)).state).to.equal("canceled");
    expect(await groupsOf(t.engine).cancel(group.id, "jobs")).to.equal("canceled");
  });

  it("goes on being canceled by ticks if the process that began it is gone", async () => {
    const group = await of.open();
    await of.join(group, ...Array.from({ length: 50 }, (_, n) => `m${n}`));
    expect(await t.scripts.of(GROUPS).cancelGroup(t.keys.tag(0), { id: group.id, max: 20 })).to.equal("more");
    expect(await of.countsOf(group)).to.deep.equal({ waiting: 30, canceled: 20 });
    const { nextMs } = await t.engine.upkeep.tick(0);
    expect(nextMs).to.equal(0);
    expect(await of.countsOf(group)).to.deep.equal({ waiting: 10, canceled: 40 });
    await t.engine.upkeep.tick(0);
    expect((await of.look(group)).state).to.equal("canceled");
    expect(await t.redis.exists(t.key("groups"))).to.equal(0);
  });

  it("cancels no dead member that is run again after its cancel, also if the store was repaired", async () => {
    const group = await of.open();
    await of.join(group, "dead", "other");
    await of.fail("retry", 1);
    await groupsOf(t.engine).cancel(group.id, "jobs");
    expect((await of.look(group)).state).to.equal("canceled");
    await t.engine.call("retry", { id: "dead", queue: "jobs" });
    expect(await of.verified(true)).to.deep.equal([]);
    await t.engine.upkeep.tick(0);
    expect((await t.look("dead")).state).to.equal("waiting");
    await of.complete();
    expect(await of.countsOf(group)).to.deep.equal({ succeeded: 1, canceled: 1 });
  });

  it("has ended when a tick that cancels it finds that the store has lost its last member", async () => {
    const group = await of.open();
    await of.join(group, "a", "lost");
    expect(await t.scripts.of(GROUPS).cancelGroup(t.keys.tag(0), { id: group.id, max: 1 })).to.equal("more");
    await t.redis.del(t.key("task", "lost"));
    await t.redis.zrem(t.key("waiting"), "lost");
    await t.engine.upkeep.tick(0);
    expect(await of.countsOf(group)).to.deep.equal({ canceled: 1 });
    expect((await of.look(group)).state).to.equal("canceled");
  });

  it("sends its webhook once, even if a dead member runs again", async () => {
    const group = await of.open("g", "https://example.com/");
    await of.join(group, "a");
    await close(group);
    await of.fail("retry", 1);
    await t.engine.call("retry", { id: "a", queue: "jobs" });
    await of.complete();
    const deliveries = await t.redis.zrange(t.key("waiting", "paihao.webhooks"), "0", "-1");
    expect(deliveries).to.have.length(1);
    expect(deliveries[0]).to.match(/^g:webhook:group:\d+$/);
    const input = await t.redis.hget(t.key("task", deliveries[0]), "i");
    expect(JSON.parse(input ?? "")).to.deep.equal({ group: "g", state: "done", url: "https://example.com/" });
  });

  it("is repaired by verify", async () => {
    const group = await of.open();
    await of.join(group, "a", "b", "c", "lost");
    await close(group);
    await of.complete();
    await t.redis.zadd(t.key("memberStates", group.id), "0", "a");
    await t.redis.zrem(t.key("memberLine", group.id), "b");
    await t.redis.zrem(t.key("memberStates", group.id), "c");
    await t.redis.del(t.key("task", "lost"));
    await t.redis.zrem(t.key("waiting"), "lost");
    expect([...(await of.verified())].sort()).to.deep.equal(["a", "b", "c", "lost"]);
    await of.verified(true);
    expect(await of.countsOf(group)).to.deep.equal({ waiting: 2, succeeded: 1 });
    await of.complete();
    await of.complete();
    expect((await of.look(group)).state).to.equal("done");
  });

  it("is repaired by verify if it would never close or end", async () => {
    const [left, over] = [await of.open(), await of.open()];
    await of.join(left, "a");
    await of.join(over, "b");
    await of.complete();
    await of.complete();
    await t.redis.zrem(t.key("groups"), left.id);
    await t.redis.hset(t.key("group", over.id), GROUP.closed, "1");
    await t.redis.zrem(t.key("groups"), over.id);
    expect([...(await of.verified())].sort()).to.deep.equal([left.id, over.id].sort());
    await of.verified(true);
    await t.engine.upkeep.tick(0);
    expect([(await of.look(left)).state, (await of.look(over)).state]).to.deep.equal(["done", "done"]);
  });

  it("knows a member that has ended when a later task has its id", async () => {
    const group = await of.open();
    await of.join(group, "a", "b");
    await of.complete();
    await t.redis.del(t.key("task", "a"));
    expect((await t.submit({ id: "a" })).verdict).to.equal("new");
    expect(await of.verified(true)).to.deep.equal([]);
    expect(await of.countsOf(group)).to.deep.equal({ waiting: 1, succeeded: 1 });
    await of.join(group, "a");
    expect((await of.look(group)).total).to.equal(2);
  });

  it("takes a task whose earlier record has gone as the member that it was", async () => {
    const group = await of.open();
    await of.join(group, "a");
    await of.complete();
    await t.redis.del(t.key("task", "a"));
    expect(await of.join(group, "a")).to.deep.equal(["new"]);
    expect(await of.countsOf(group)).to.deep.equal({ waiting: 1 });
    const member = { id: "a", line: 0, state: "waiting", end: null };
    expect(await groupsOf(t.engine).members(group.id, "jobs", fromStart(10))).to.deep.equal([member]);
  });

  it("has its members in the order in which they joined", async () => {
    const group = await of.open();
    await of.join(group, "z", "y", "x");
    await of.complete();
    const groups = groupsOf(t.engine);
    expect(await groups.members(group.id, "jobs", fromStart(2))).to.deep.equal([
      { id: "z", line: 0, state: "succeeded", end: 0 },
      { id: "y", line: 1, state: "waiting", end: null },
    ]);
    const x = { id: "x", line: 2, state: "waiting", end: null };
    expect(await groups.members(group.id, "jobs", { by: "line", from: 2, count: 2 })).to.deep.equal([x]);
    await t.engine.call("cancel", { id: "x", queue: "jobs" });
    const ended = { ...x, state: "canceled", end: 1 };
    expect(await groups.members(group.id, "jobs", { by: "end", from: 1, count: 2 })).to.deep.equal([ended]);
  });

  it("knows when its last member will have ended", async () => {
    const group = await of.open();
    await of.join(group, "a", "b");
    expect((await of.look(group)).eta).to.equal(null);
    await t.redis.hset(t.key("queue"), "slots", "1", "workers", "1", "liveUntil", String(Date.now() * 2));
    await of.complete();
    const eta = (await of.look(group)).eta;
    expect(eta).to.include({ basis: "idle" });
    await close(group);
    await of.complete();
    expect((await of.look(group)).eta).to.equal(null);
  });
});
