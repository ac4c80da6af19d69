import { expect } from "chai";
import { verify } from "../../../src/engine/maintenance/verify.ts";
import { failureOf, openEngine, resultOf, type TestEngine } from "../../helpers/engine.ts";
import { keysLike } from "../../helpers/store/scan.ts";
import { storedKey } from "../../helpers/store/stored.ts";
import { submissionOf } from "../../shared/submission.ts";

type Taken = Awaited<ReturnType<TestEngine["reserve"]>>[number];

describe("a keyed line", () => {
  let t: TestEngine;
  beforeEach(async () => {
    t = await openEngine({ settings: { attempts: 2, maxLost: 1, keyedConcurrency: 1 } });
  });
  afterEach(async () => {
    const { disagreeing } = await verify(t.redis, t.scripts, t.keys, { heal: false });
    await t.close();
    expect(disagreeing, "verify").to.deep.equal([]);
  });

  const join = (key: string | null, id: string, options: Partial<Parameters<TestEngine["submit"]>[0]> = {}) =>
    t.submit({ id, key, ...options });
  const joinAll = async (key: string | null, ...ids: string[]) => {
    for (const id of ids) await join(key, id);
  };
  const taken = new Map<string, Taken>();
  const start = async (count = 100) => {
    const tasks = await t.reserve(count);
    for (const task of tasks) taken.set(task.id, task);
    return tasks.map(({ id }) => id);
  };
  const leaseOf = (id: string) => {
    const task = taken.get(id);
    if (!task) throw new Error(`${id} was not taken`);
    return { queue: "jobs", id, fence: task.fence };
  };
  const complete = (id: string) => t.engine.leases.complete(leaseOf(id), resultOf(id), t.settings);
  const fail = (id: string, kind: "retry" | "later" | "give-up" = "retry", delayMs = 0) =>
    t.engine.leases.fail(leaseOf(id), failureOf(kind, delayMs), t.settings);
  const due = async (...ids: string[]) => {
    for (const id of ids) await t.makeDue(id);
    await t.engine.maintenance.tick(0);
  };
  const keysLeft = () => keysLike(t.redis, storedKey(t.keys.tag(0), "keyLine", "*"));

  it("runs the tasks of one key one at a time, in the order of submission; others pass them", async () => {
    await joinAll("a", "a1", "a2", "a3");
    await joinAll("b", "b1", "b2");
    await joinAll(null, "n1", "n2");
    expect(await start()).to.deep.equal(["a1", "b1", "n1", "n2"]);
    expect(await start()).to.deep.equal([]);
    await complete("b1");
    expect(await start()).to.deep.equal(["b2"]);
    await complete("a1");
    expect(await start()).to.deep.equal(["a2"]);
    for (const id of ["a2", "b2", "n1", "n2"]) await complete(id);
    expect(await start()).to.deep.equal(["a3"]);
    await complete("a3");
    expect(await keysLeft()).to.deep.equal([]);
  });

  it("keeps everyone at an exact place by arrival", async () => {
    await joinAll("a", "a1", "a2", "a3");
    const { index } = await join("b", "b1");
    expect(index).to.equal(3);
    expect(await start(1)).to.deep.equal(["a1"]);
    const places = await Promise.all(["a2", "a3", "b1"].map(async (id) => (await t.look(id)).index));
    expect(places).to.deep.equal([0, 1, 2]);
  });

  it("keeps the order of arrival within a key whatever the priority", async () => {
    await join("a", "first", { priority: 7 });
    await join("a", "second", { priority: 0 });
    await join("b", "other", { priority: 3 });
    expect(await start()).to.deep.equal(["other", "first"]);
    await complete("first");
    expect(await start()).to.deep.equal(["second"]);
  });

  it("holds a key through a retry, and starts the retry before all later tasks", async () => {
    await joinAll("a", "a1", "a2");
    await start();
    await fail("a1", "retry", 60_000);
    expect(await start()).to.deep.equal([]);
    await due("a1");
    expect(await start()).to.deep.equal(["a1"]);
    await fail("a1", "later", 60_000);
    expect(await start()).to.deep.equal([]);
    await due("a1");
    expect(await start()).to.deep.equal(["a1"]);
    expect(await fail("a1", "retry")).to.equal("dead");
    expect(await start()).to.deep.equal(["a2"]);
  });

  it("frees the key of a task that is canceled, dead, or given up", async () => {
    await joinAll("a", "a1", "a2", "a3", "a4", "a5", "a6");
    await start();
    await t.engine.call("cancel", { id: "a1", queue: "jobs" });
    expect(await start(), "until it has settled").to.deep.equal([]);
    await fail("a1");
    expect(await start()).to.deep.equal(["a2"]);
    await fail("a2", "give-up");
    await t.engine.call("cancel", { id: "a3", queue: "jobs" });
    expect(await start()).to.deep.equal(["a4"]);
    await fail("a4", "retry", 60_000);
    await t.engine.call("cancel", { id: "a4", queue: "jobs" });
    expect(await start()).to.deep.equal(["a5"]);
    await t.engine.call("cancel", { id: "a6", queue: "jobs" });
    await complete("a5");
    expect(await keysLeft()).to.deep.equal([]);
  });

  it("frees the key of a lost worker with its lease, in the order of arrival", async () => {
    await joinAll("a", "a1", "a2");
    await start();
    await t.endLease("a1");
    expect(await start()).to.deep.equal([]);
    const at = Date.now() + 60_000;
    await t.redis.hset(t.key("ticked"), { at, ended: at });
    await t.engine.maintenance.tick(0);
    expect(await start()).to.deep.equal(["a1"]);
    expect(await t.engine.call("lose", { ...leaseOf("a1") })).to.equal("dead");
    expect(await start()).to.deep.equal(["a2"]);
    await t.engine.call("release", { ...leaseOf("a2") });
    expect(await start()).to.deep.equal(["a2"]);
  });

  it("lets a scheduled task hold nothing until it is due; then it is the last of its key", async () => {
    await join("a", "a-due", { delayMs: 60_000 });
    await joinAll("a", "a1", "a2");
    expect(await start()).to.deep.equal(["a1"]);
    await due("a-due");
    await joinAll("a", "a3");
    const order: string[] = ["a1"];
    for (let id = "a1"; ; ) {
      await complete(id);
      const [next] = await start();
      if (next === undefined) break;
      order.push(next);
      id = next;
    }
    expect(order).to.deep.equal(["a1", "a2", "a-due", "a3"]);
  });

  it("puts a retried dead task at the end of its key", async () => {
    t.settings;
    await joinAll("a", "a1", "a2");
    await start();
    await fail("a1");
    await due("a1");
    await start();
    await fail("a1");
    expect(await start()).to.deep.equal(["a2"]);
    await joinAll("a", "a3");
    await t.engine.call("retry", { id: "a1", queue: "jobs" });
    await complete("a2");
    expect(await start()).to.deep.equal(["a3"]);
    await complete("a3");
    expect(await start()).to.deep.equal(["a1"]);
  });

  it("moves a task to the key of its new input, at its place", async () => {
    await joinAll("a", "a1", "a2");
    await joinAll("b", "b1", "b2", "b3");
    expect(await start()).to.deep.equal(["a1", "b1"]);
    const change = (id: string, key: string | null) =>
      t.engine.submitter.update({ ...submissionLike(id), key }, t.settings);
    await change("a2", "b");
    await complete("b1");
    expect(await start(), "it came before b2").to.deep.equal(["a2"]);
    await change("b2", "c");
    expect(await start()).to.deep.equal(["b2"]);
    await change("b3", null);
    expect(await start()).to.deep.equal(["b3"]);
    await complete("a2");
    await complete("a1");
    expect((await keysLeft()).length).to.equal(1);
  });

  const submissionLike = (id: string) => submissionOf(id, "jobs", '{"n":2}');
});

describe("a keyed line with a concurrency of 2", () => {
  let t: TestEngine;
  beforeEach(async () => {
    t = await openEngine({ settings: { attempts: 3, keyedConcurrency: 2 } });
  });
  afterEach(async () => {
    const { disagreeing } = await verify(t.redis, t.scripts, t.keys, { heal: false });
    await t.close();
    expect(disagreeing, "verify").to.deep.equal([]);
  });

  it("runs two tasks of a key, and holds nothing for one that waits for its retry", async () => {
    for (const id of ["a1", "a2", "a3", "a4"]) await t.submit({ id, key: "a" });
    const [a1, a2] = await t.reserve(10);
    expect([a1?.id, a2?.id]).to.deep.equal(["a1", "a2"]);
    if (!a1 || !a2) throw new Error("nothing was taken");
    await t.engine.leases.fail({ queue: "jobs", ...a1 }, failureOf("retry", 60_000), t.settings);
    await t.makeDue("a1");
    await t.engine.maintenance.tick(0);
    expect(
      (await t.reserve(10)).map(({ id }) => id),
      "back before a3",
    ).to.deep.equal(["a1"]);
    await t.engine.leases.complete({ queue: "jobs", ...a2 }, resultOf("x"), t.settings);
    expect((await t.reserve(10)).map(({ id }) => id)).to.deep.equal(["a3"]);
  });
});
