import { expect } from "chai";
import { failureOf, openEngine, resultOf, type TestEngine } from "../helpers/engine.ts";
import { keysLike } from "../helpers/store/scan.ts";
import { storedKey } from "../helpers/store/stored.ts";
import { eventually } from "../shared/eventually.ts";

/** Long enough for a test to do what it wants before. */
const LATER_MS = 60_000;

describe("a deadline", () => {
  let t: TestEngine;
  beforeEach(async () => {
    t = await openEngine({ settings: { attempts: 1 } });
  });
  afterEach(() => t.close());

  const tick = async () => {
    const { late } = await t.engine.maintenance.tick(0);
    return late.map(({ id, verdict }) => `${id} ${verdict}`).sort();
  };
  const dated = () => t.redis.zcard(t.key("deadlines"));
  /** A deadline of the shortest kind is past a moment later. */
  const past = (id = "late") =>
    eventually(async () => {
      const { nowMs, deadlineMs } = await t.look(id);
      return nowMs > (deadlineMs ?? 0);
    });

  /** The first in line, which is this task. */
  const take = async (id: string) => {
    const request = { queue: "jobs", worker: "w", reservation: `r-${id}`, count: 1, leaseMs: 60_000, rate: undefined };
    const { tasks } = await t.engine.leases.reserve(request);
    expect(tasks.map((task) => task.id)).to.deep.equal([id]);
    return { queue: "jobs", id, fence: tasks[0]?.fence ?? "" };
  };

  it("takes tasks out of the line when their time is over, and no others", async () => {
    await t.submit({ id: "late", deadlineMs: 1 });
    await t.submit({ id: "later", delayMs: 1, deadlineMs: 2 });
    await t.submit({ id: "kept", deadlineMs: LATER_MS });
    await t.submit({ id: "plain" });
    await past("later");
    expect(await tick()).to.deep.equal([...["late canceled", "later canceled"]]);
    for (const id of ["late", "later"]) {
      expect(await t.look(id)).to.include({ state: "canceled", errorCode: "deadline-passed", index: null });
    }
    expect((await t.look("kept")).state).to.equal("waiting");
    expect((await t.look("plain")).deadlineMs).to.equal(null);
    expect(await tick()).to.deep.equal([]);
  });

  it("makes a running task stop, which ends as canceled by its deadline whatever its worker reports", async () => {
    const ends = {
      completed: (lease: Awaited<ReturnType<typeof take>>) =>
        t.engine.leases.complete(lease, resultOf("x"), t.settings),
      failed: (lease: Awaited<ReturnType<typeof take>>) => t.engine.leases.fail(lease, failureOf("retry"), t.settings),
      released: (lease: Awaited<ReturnType<typeof take>>) => t.engine.call("release", lease),
      late: (lease: Awaited<ReturnType<typeof take>>) => t.engine.call("lose", lease),
    };
    for (const [id, end] of Object.entries(ends)) {
      await t.submit({ id, deadlineMs: 1 });
      const lease = await take(id);
      await eventually(async () => (await tick()).includes(`${id} requested`));
      expect(await t.engine.leases.renew(lease, 60_000)).to.equal("deadline");
      expect(await t.look(id)).to.include({ state: "running", cancelRequested: true });
      expect(await t.engine.call("cancel", { id, queue: "jobs" }), "once more, by a caller").to.equal("requested");
      expect(await end(lease)).to.equal("canceled");
      expect(await t.look(id)).to.include({ state: "canceled", errorCode: "deadline-passed" });
    }
    expect(await dated()).to.equal(0);
  });

  it("changes nothing about a cancel that was requested before", async () => {
    await t.submit({ id: "late", deadlineMs: 1 });
    const lease = await take("late");
    await t.engine.call("cancel", { id: "late", queue: "jobs" });
    await past();
    expect(await tick()).to.deep.equal(["late requested"]);
    expect(await t.engine.leases.renew(lease, 60_000)).to.equal("cancel");
    expect(await t.engine.leases.complete(lease, resultOf("x"), t.settings)).to.equal("canceled");
    expect((await t.look("late")).errorCode).to.equal(null);
  });

  it("is removed when its task ends, and by a retry", async () => {
    for (const id of ["done", "failed", "dead", "canceled"]) await t.submit({ id, deadlineMs: LATER_MS });
    await t.engine.call("cancel", { id: "canceled", queue: "jobs" });
    const at = (await t.look("dead")).deadlineMs;
    for (const id of ["done", "failed", "dead"]) {
      const lease = await take(id);
      if (id === "done") await t.engine.leases.complete(lease, resultOf("x"), t.settings);
      else await t.engine.leases.fail(lease, failureOf(id === "dead" ? "retry" : "give-up"), t.settings);
    }
    expect(await dated()).to.equal(0);
    expect((await t.look("dead")).deadlineMs, "told of a dead task").to.equal(at);
    await t.engine.call("retry", { id: "dead", queue: "jobs" });
    expect(await t.look("dead")).to.include({ state: "waiting", deadlineMs: null });
    expect(await dated()).to.equal(0);
  });

  it("does nothing to a task that has ended, even if the store still has an entry for it", async () => {
    await t.submit({ id: "late", deadlineMs: 1 });
    expect(await t.engine.leases.complete(await take("late"), resultOf("x"), t.settings)).to.equal("done");
    await past();
    await t.redis.zadd(t.key("deadlines"), 1, "late");
    expect(await tick()).to.deep.equal([]);
    expect(await t.look("late")).to.include({ state: "succeeded", errorCode: null });
    expect(await dated()).to.equal(0);
  });

  it("adds no Redis key to a queue without deadlines", async () => {
    await t.submit({ id: "plain" });
    await tick();
    expect(await keysLike(t.redis, storedKey(t.keys.tag(0), "deadlines", "*"))).to.deep.equal([]);
  });

  it("is reported to the ticker, so that it ticks in time", async () => {
    await t.submit({ id: "soon", deadlineMs: LATER_MS });
    const { nextMs } = await t.engine.maintenance.tick(0);
    expect(nextMs).to.be.within(1, LATER_MS);
  });

  it("races with start, completion and cancel, and exactly one of them wins", async () => {
    const ids = Array.from({ length: 60 }, (_, n) => `race${n}`);
    const outcomes = new Map<string, string[]>();
    await Promise.all(ids.map((id) => t.submit({ id, deadlineMs: 1 })));
    const note = (id: string, verdict: string) => outcomes.set(id, [...(outcomes.get(id) ?? []), verdict]);
    const work = async (worker: string) => {
      for (let n = 0; ; n += 1) {
        const asked = { queue: "jobs", worker, reservation: `r${n}`, count: 3, leaseMs: 60_000 };
        const { tasks } = await t.engine.leases.reserve({ ...asked, rate: undefined });
        if (tasks.length === 0) return;
        await Promise.all(
          tasks.map(async ({ id, fence }) => {
            const lease = { queue: "jobs", id, fence };
            if (Number(id.slice(4)) % 3 === 0) note(id, await t.engine.call("cancel", { id, queue: "jobs" }));
            note(id, await t.engine.leases.complete(lease, resultOf(id), t.settings));
          }),
        );
      }
    };
    const tickOn = async () => {
      for (let n = 0; n < 30; n += 1) for (const late of await tick()) note(...(late.split(" ") as [string, string]));
    };
    await Promise.all([work("w1"), work("w2"), tickOn()]);
    for (const id of ids) {
      const { state, errorCode, result } = await t.look(id);
      const told = outcomes.get(id) ?? [];
      expect(["succeeded", "canceled"], id).to.include(state);
      expect(told.includes("done"), `${id}: ${told}`).to.equal(state === "succeeded");
      expect(result !== null, id).to.equal(state === "succeeded");
      if (errorCode !== null) expect(told.some((word) => word === "canceled" || word === "requested")).to.equal(true);
    }
    expect(await dated()).to.equal(0);
  });
});
