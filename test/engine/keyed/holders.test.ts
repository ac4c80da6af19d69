import { expect } from "chai";
import { verify } from "../../../src/engine/maintenance/verify.ts";
import { move as moveTask } from "../../../src/engine/submission/move.ts";
import { failureOf, openEngine, resultOf, type TestEngine } from "../../helpers/engine.ts";
import { QUEUE } from "../../helpers/store/stored.ts";
import { type GivenSubmission, submissionOf } from "../../shared/submission.ts";

describe("those who hold a key", () => {
  let t: TestEngine;
  let taken: Map<string, { queue: string; id: string; fence: string }>;
  let limit: number;
  beforeEach(async () => {
    t = await openEngine({ settings: { attempts: 3, keyedConcurrency: 1 } });
    taken = new Map();
    limit = 1;
  });
  afterEach(async () => {
    await agrees().finally(() => t.close());
  });

  const settings = () => ({ ...t.settings, keyedConcurrency: limit });
  const join = async (key: string, ids: readonly string[], options: GivenSubmission = {}) => {
    for (const id of ids) await t.engine.submitter.submit(submissionLike(id, { key, ...options }), settings());
  };
  const start = async (count = 100) => {
    const tasks = await t.reserve(count);
    for (const { id, fence } of tasks) taken.set(id, { queue: "jobs", id, fence });
    return tasks.map(({ id }) => id);
  };
  const leaseOf = (id: string) => taken.get(id) ?? { queue: "jobs", id, fence: "1" };
  const complete = (id: string) => t.engine.leases.complete(leaseOf(id), resultOf(id), t.settings);
  const release = (id: string) => t.engine.call("release", { ...leaseOf(id) });
  const retry = async (id: string) => {
    await t.engine.leases.fail(leaseOf(id), failureOf("retry", 60_000), settings());
    await t.makeDue(id);
    await t.engine.maintenance.tick(0);
  };
  const move = (id: string, key: string) => t.engine.submitter.update({ ...submissionLike(id), key }, settings());
  const agrees = async () =>
    expect((await verify(t.redis, t.scripts, t.keys, { heal: false })).disagreeing, "verify").to.deep.equal([]);
  const held = async (...ids: string[]) => Promise.all(ids.map(async (id) => (await t.look(id)).held));

  it("keep it when an earlier task returns, and let that one go next", async () => {
    await join("b", ["b0", "b1"]);
    await join("a", ["a1", "a2", "a3"]);
    expect(await start()).to.deep.equal(["b0", "a1"]);
    await move("b1", "a");
    await agrees();
    expect(await held("b1", "a2")).to.deep.equal([true, true]);
    expect(await start()).to.deep.equal([]);
    await complete("a1");
    expect(await held("b1", "a2"), "b1 may start").to.deep.equal([false, false]);
    expect(await start()).to.deep.equal(["b1"]);
    expect(await held("a2")).to.deep.equal([true]);
  });

  it("keep it in line after an attempt, also with another priority", async () => {
    await join("b", ["b0", "b1"]);
    await join("a", ["a1"]);
    expect(await start()).to.deep.equal(["b0", "a1"]);
    await move("b1", "a");
    await retry("a1");
    await moveTask(t.engine, { id: "a1", queue: "jobs" }, { priority: 5 });
    await agrees();
    expect(await start()).to.deep.equal(["a1"]);
  });

  it("let exactly one task of each of many keys start when all end at once", async () => {
    const keys = Array.from({ length: 60 }, (_, n) => `k${n}`);
    for (const key of keys) await join(key, [`${key}-1`, `${key}-2`]);
    const first = await start(20);
    await Promise.all(first.map(complete));
    const [figures] = await t.engine.queues.figures(["jobs"]);
    expect(figures?.snapshot.startable).to.equal(keys.length);
    expect(await start(200)).to.have.members([
      ...first.map((id) => id.replace("-1", "-2")),
      ...keys.slice(20).map((key) => `${key}-1`),
    ]);
    expect(await t.redis.hget(t.key("queue"), QUEUE.healed)).to.equal(null);
  });

  it("keep it from their first attempt to their last, but not when they are handed back", async () => {
    await join("b", ["b0", "b1", "b2"]);
    await join("a", ["a1", "a2"]);
    await start();
    await retry("a1");
    await move("b1", "a");
    expect(await held("a1", "b1")).to.deep.equal([false, true]);
    expect(await start()).to.deep.equal(["a1"]);
    expect(await held("b1")).to.deep.equal([true]);
    await release("a1");
    expect(await start(), "it is back at its place").to.deep.equal(["b1"]);
    expect(await held("a1", "a2")).to.deep.equal([true, true]);
    await complete("b1");
    expect(await start()).to.deep.equal(["a1"]);
    await move("b2", "a");
    await retry("a1");
    expect(await start()).to.deep.equal(["a1"]);
    await complete("a1");
    expect(await start()).to.deep.equal(["b2"]);
  });

  it("are always as many as the concurrency allows, whatever comes back or is canceled", async () => {
    limit = 2;
    await join("a", ["a1", "a2", "a3", "a4", "a5", "a6"]);
    expect(await start()).to.deep.equal(["a1", "a2"]);
    await t.engine.leases.fail(leaseOf("a1"), failureOf("retry", 60_000), settings());
    expect(await start()).to.deep.equal(["a3"]);
    await t.makeDue("a1");
    await t.engine.maintenance.tick(0);
    expect(await held("a1", "a4")).to.deep.equal([true, true]);
    expect(await start()).to.deep.equal([]);
    await t.engine.call("cancel", { id: "a4", queue: "jobs" });
    expect(await start()).to.deep.equal([]);
    await complete("a3");
    expect(await start()).to.deep.equal(["a1"]);
    await release("a2");
    expect(await start()).to.deep.equal(["a2"]);
    for (const id of ["a2", "a1"]) await complete(id);
    expect(await start()).to.deep.equal(["a5", "a6"]);
  });

  it("are all counted after the concurrency was lowered, also those after a waiting task", async () => {
    limit = 3;
    await join("a", ["late"], { priority: 7 });
    await join("a", ["a2", "a3", "a4", "a5"]);
    expect(await start(2)).to.deep.equal(["a2", "a3"]);
    limit = 1;
    await join("a", ["a6"]);
    expect(await start()).to.deep.equal([]);
    await complete("a2");
    expect(await start()).to.deep.equal([]);
    await release("a3");
    expect(await start(), "by arrival").to.deep.equal(["late"]);
    await complete("late");
    expect(await start()).to.deep.equal(["a3"]);
    limit = 2;
    await join("a", ["a7"]);
    expect(await start()).to.deep.equal(["a4"]);
    await complete("a3");
    expect(await start()).to.deep.equal(["a5"]);
    for (const id of ["a4", "a5"]) await complete(id);
    expect(await start()).to.deep.equal(["a6", "a7"]);
  });

  it("may be many after there were few", async () => {
    const names = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => `a${n + from}`);
    limit = 2;
    await join("a", names(0, 30));
    expect(await start()).to.deep.equal(names(0, 2));
    limit = 20;
    await join("a", names(30, 40));
    expect(await start()).to.deep.equal(names(2, 20));
    expect(await held("a20")).to.deep.equal([true]);
    await release("a1");
    expect(await held("a1", "a20")).to.deep.equal([false, false]);
    expect(await start()).to.deep.equal(["a1"]);
    for (const id of ["a0", "a7", "a19"]) await complete(id);
    expect(await start()).to.deep.equal(names(20, 23));
    limit = 1;
    await join("a", names(40, 41));
    for (const id of [...names(1, 7), ...names(8, 19), ...names(20, 22)]) {
      await complete(id);
      expect(await start(), id).to.deep.equal([]);
    }
    await complete("a22");
    expect(await start()).to.deep.equal(["a23"]);
  });

  it("free them together: the next ones start in the order of arrival", async () => {
    const [first, second, third] = [0, 1, 2].map((turn) => Array.from({ length: 90 }, (_, n) => `k${n}-${turn}`));
    if (!first || !second || !third) throw new Error("no names");
    await Promise.all(
      [...first, ...second, ...third].map((id) => {
        const key = id.split("-")[0] ?? "";
        return t.engine.submitter.submit({ ...submissionLike(id), key }, settings());
      }),
    );
    expect(await start()).to.deep.equal(first);
    await Promise.all(first.map(complete));
    expect(await start(60)).to.deep.equal(second.slice(0, 60));
    await Promise.all(second.slice(0, 60).map(complete));
    expect(await start(30)).to.deep.equal(second.slice(60));
    expect(await start()).to.deep.equal(third.slice(0, 60));
  });

  const submissionLike = (id: string, given: GivenSubmission = {}) => submissionOf(id, "jobs", '{"n":2}', given);
});
