import { expect } from "chai";
import { watchedTasks } from "../../src/engine/watch/watch.ts";
import { Watchers } from "../../src/engine/watch/watchers.ts";
import { groupsOf } from "../../src/extras/groups/groups.ts";
import { openEngine, resultOf, type TestEngine } from "../helpers/engine.ts";
import { TASK } from "../helpers/store/stored.ts";
import { eventually } from "../shared/eventually.ts";

const SPAN_MS = 30_000;
const HOUR_MS = 3_600_000;

describe("presence", () => {
  let t: TestEngine;
  beforeEach(async () => {
    t = await openEngine({ settings: { attempts: 2 } });
  });
  afterEach(() => t.close());

  const tick = async () =>
    (await t.engine.upkeep.tick(0)).late.map(({ id, verdict, reason }) => `${id} ${verdict} ${reason}`).sort();
  /** Until when a task is kept, by the store; null if nothing cancels it. */
  const until = async (id: string) => {
    const score = await t.redis.zscore(t.key("deadlines"), id);
    return score === null ? null : Number(score);
  };
  /** As if its presence had ended at this time. */
  const absent = (id: string, at: number | string = 1) => t.redis.zadd(t.key("deadlines"), "XX", at, id);
  /** A look that counts. */
  const attend = (id: string) => t.engine.inspector.inspect(id, { result: false, attends: () => true });
  const take = async (id: string) => {
    const [task] = await t.reserve(1);
    expect(task?.id).to.equal(id);
    return { queue: "jobs", id, fence: task?.fence ?? "" };
  };
  const openGroup = async (id: string) => {
    const group = { id, caller: null, webhook: null, presenceMs: SPAN_MS };
    expect(await groupsOf(t.engine).open(group, t.settings)).to.include({ state: "new" });
  };
  const now = async () => (await t.look("a")).nowMs;
  /** Resolves when looks that are being stored are. */
  const settled = () => attend("a");

  it("of a group is that of all its members: a look at any of them keeps all, and all are canceled together", async () => {
    await openGroup("g");
    const members = ["ended", "running", "waiting"];
    for (const [line, id] of members.entries()) await t.submit({ id, member: { group: "g", line } });
    await t.engine.leases.complete(await take("ended"), resultOf("x"), t.settings);
    const lease = await take("running");
    const look = () => groupsOf(t.engine).inspect("g", { attends: () => true });
    for (const attended of [() => attend("waiting"), () => attend("ended"), look]) {
      const soon = (await t.look("waiting")).nowMs + 1000;
      await absent("g:group", soon);
      for (const id of members) expect(await t.look(id)).to.include({ presenceMs: SPAN_MS, presentUntilMs: soon });
      await attended();
      expect(await until("g:group")).to.be.greaterThan(soon);
    }
    expect(await tick()).to.deep.equal([]);
    await absent("g:group");
    await tick();
    expect(await t.look("waiting")).to.include({ state: "canceled", canceledBy: "abandoned" });
    expect((await t.look("running")).cancelRequested).to.equal(true);
    expect((await t.look("ended")).state).to.equal("succeeded");
    expect(await t.engine.leases.complete(lease, resultOf("late"), t.settings)).to.equal("canceled");
    expect(await look()).to.deep.include({ state: "canceled", presenceMs: null });
    expect(await t.redis.exists(t.key("deadlines"))).to.equal(0);
  });

  it("ends a group that was left open although none of its members is left to cancel, or it has none", async () => {
    await openGroup("over");
    await t.submit({ id: "ended", member: { group: "over", line: 0 } });
    await t.engine.leases.complete(await take("ended"), resultOf("x"), t.settings);
    await openGroup("empty");
    for (const group of ["over", "empty"]) await absent(`${group}:group`);
    await tick();
    expect((await groupsOf(t.engine).inspect("over"))?.finishedMs).to.be.a("number");
    expect(await t.redis.pttl(t.key("group", "over"))).to.be.above(0);
    expect(await t.redis.exists(t.key("group", "empty"))).to.equal(0);
  });

  it("is kept by each look for its whole length", async () => {
    await t.submit({ id: "a", presenceMs: SPAN_MS });
    await absent("a", (await now()) + SPAN_MS - 1);
    const at = await now();
    const kept = (await attend("a"))?.presentUntilMs ?? 0;
    expect(kept).to.be.at.least(at + SPAN_MS);
    expect(await until("a")).to.be.within(kept, kept + 1000);
  });

  it("is not kept by looks that do not count", async () => {
    await t.submit({ id: "a", presenceMs: SPAN_MS });
    await absent("a");
    await t.look("a");
    await t.engine.inspector.inspect("a", { result: false, attends: () => false });
    expect(await tick()).to.deep.equal(["a canceled abandoned"]);
  });

  it("shares its entry with a deadline: the sooner counts, and no look passes the deadline", async () => {
    await t.submit({ id: "a", presenceMs: SPAN_MS, deadlineMs: 2 * SPAN_MS });
    const { deadlineMs, createdMs } = await t.look("a");
    expect(await until("a")).to.equal(createdMs + SPAN_MS);
    await t.submit({ id: "b", presenceMs: 2 * SPAN_MS, deadlineMs: SPAN_MS });
    expect(await until("b")).to.equal((await t.look("b")).deadlineMs);
    await t.redis.hset(t.key("task", "a"), TASK.deadline, (deadlineMs ?? 0) - SPAN_MS - 1000);
    await absent("a");
    await attend("a");
    expect(await until("a")).to.equal((await t.look("a")).deadlineMs);
    await t.redis.hset(t.key("task", "a"), TASK.deadline, 1);
    await absent("a");
    expect(await tick()).to.deep.equal(["a canceled deadline"]);
  });

  it("goes on for its whole time after a gap in which nobody could look, but not if it had ended before", async () => {
    for (const id of ["a", "before", "soon", "later"]) await t.submit({ id, presenceMs: SPAN_MS });
    const at = (await now()) - 60_000;
    await t.redis.hset(t.key("ticked"), { at, gaps: 0 });
    await absent("a", at + 1);
    await absent("before", at);
    expect(await tick()).to.deep.equal(["before canceled abandoned"]);
    const kept = (await until("a")) ?? 0;
    expect(kept).to.be.within((await now()) + SPAN_MS - 5000, (await now()) + SPAN_MS);
    expect(await tick()).to.deep.equal([]);
    await t.redis.hset(t.key("ticked"), { "gap from": 1, "gap to": 2 });
    await absent("a", 3 + SPAN_MS);
    expect(await tick(), "nobody came back").to.deep.equal(["a canceled abandoned"]);
  });

  it("that ends exactly its whole time after such a gap gets no other", async () => {
    await t.submit({ id: "a", presenceMs: SPAN_MS });
    await t.engine.upkeep.tick(0);
    const to = (await now()) - SPAN_MS;
    await t.redis.hset(t.key("ticked"), { "gap from": to - HOUR_MS, "gap to": to });
    await absent("a", to + SPAN_MS);
    expect(await tick()).to.deep.equal(["a canceled abandoned"]);
  });

  it("is entered again by a look, or a check of the index, if its entry was lost", async () => {
    await t.submit({ id: "a", presenceMs: SPAN_MS });
    await t.redis.del(t.key("deadlines"));
    await attend("a");
    expect(await until("a")).to.be.at.most((await now()) + SPAN_MS);
    await t.redis.del(t.key("deadlines"));
    const check = (heal: boolean) => t.scripts.verify(t.keys.tag(0), { ids: ["a"], heal });
    expect(await check(true)).to.deep.equal(["a"]);
    expect(await check(false)).to.deep.equal([]);
    expect(await until("a")).to.be.at.most((await now()) + SPAN_MS);
  });

  it("is kept by those who watch, as long as they do, and not by operators", async () => {
    await t.submit({ id: "a", presenceMs: SPAN_MS });
    const watchers = new Watchers(watchedTasks(t.engine), { passMs: 20 });
    const due = (await now()) + SPAN_MS / 2;
    await absent("a", due);
    const operator = await watchers.watch({ id: "a", queue: "jobs" });
    expect(await until("a")).to.equal(due);
    const caller = await watchers.watch({ id: "a", queue: "jobs" }, { keeps: true });
    await eventually(async () => ((await until("a")) ?? 0) > due);
    // The last look is the end of the watch.
    const last = new Watchers(watchedTasks(t.engine), { passMs: HOUR_MS });
    const stopped = await last.watch({ id: "a", queue: "jobs" }, { keeps: true });
    caller.stop();
    await settled();
    await absent("a", due);
    stopped.stop();
    await eventually(async () => ((await until("a")) ?? 0) > due);
    await absent("a");
    expect(await tick()).to.deep.equal(["a canceled abandoned"]);
    operator.stop();
  });
});
