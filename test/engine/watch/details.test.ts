import { expect } from "chai";
import { failureOf, openEngine, resultOf, type TestEngine } from "../../helpers/engine.ts";

describe("the details of a task", () => {
  let t: TestEngine;
  afterEach(() => t.close());

  const take = async (id: string, worker = "w1") => {
    const [task] = await t.reserve(1, { worker });
    expect(task?.id).to.equal(id);
    return { queue: "jobs", id, fence: task?.fence ?? "" };
  };
  const past = async (id: string) =>
    (await t.engine.call("details", { id, queue: "jobs" }))?.past.map(({ number, outcome, worker, error }) => [
      number,
      outcome,
      worker,
      error,
    ]);

  it("has the attempts that did not end it, with their times, workers and errors, the oldest first", async () => {
    t = await openEngine({ settings: { attempts: 2 } });
    await t.submit({ id: "a" });
    await t.engine.leases.fail(await take("a", "w1"), failureOf("later"), t.settings);
    await t.engine.upkeep.tick(0);
    await t.engine.call("release", { ...(await take("a", "w2")) });
    await t.engine.leases.fail(await take("a", "w3"), { ...failureOf("retry"), error: "first\nsecond" }, t.settings);
    await t.engine.upkeep.tick(0);
    await t.engine.leases.fail(await take("a", "w4"), failureOf("retry"), t.settings);
    const before = [
      [1, "later", "w1", ""],
      [1, "released", "w2", ""],
      [1, "retrying", "w3", "first second"],
    ];
    expect(await past("a")).to.deep.equal(before);
    const details = await t.engine.call("details", { id: "a", queue: "jobs" });
    expect(await t.engine.inspector.inspect("a", { result: false })).to.include({ attempts: 2, worker: "w4" });
    for (const { beganMs, endedMs } of details?.past ?? []) expect(endedMs - beganMs).to.be.within(0, 10_000);

    await t.engine.call("retry", { id: "a", queue: "jobs" });
    await t.engine.leases.complete(await take("a", "w5"), resultOf("done"), t.settings);
    expect(await past("a")).to.deep.equal([...before, [2, "dead", "w4", "boom"], [0, "retried", "", ""]]);
    await t.engine.call("cancel", { id: "a", queue: "jobs" });
    expect(await past("a")).to.deep.equal([]);
  });

  it("has lost workers, and keeps the last ten attempts with short errors", async () => {
    t = await openEngine({ settings: { attempts: 100, maxLost: 3 } });
    await t.submit({ id: "a" });
    const lease = await take("a");
    await t.engine.call("lose", lease);
    await t.engine.call("lose", lease);
    expect(await past("a")).to.deep.equal([[1, "lost", "w1", ""]]);
    for (let n = 0; n < 12; n += 1) {
      await t.engine.leases.fail(await take("a"), { ...failureOf("retry"), error: "é".repeat(400) }, t.settings);
      await t.engine.upkeep.tick(0);
    }
    const attempts = (await past("a")) ?? [];
    expect(attempts).to.have.length(10);
    expect(new Set(attempts.map(([, outcome]) => outcome))).to.deep.equal(new Set(["retrying"]));
    expect(attempts[0]?.[3]).to.match(/^é{100,150}$/);
  });

  it("has an error as it is if it is not longer than what is kept, and else cuts no letter in two", async () => {
    t = await openEngine({ settings: { attempts: 3 } });
    await t.submit({ id: "a" });
    const [fits, long] = ["é".repeat(150), `x${"é".repeat(150)}`];
    for (const error of [fits, long]) {
      await t.engine.leases.fail(await take("a"), { ...failureOf("retry"), error }, t.settings);
      await t.engine.upkeep.tick(0);
    }
    expect((await past("a"))?.map(([, , , error]) => error)).to.deep.equal([fits, long.slice(0, -1)]);
  });

  it("has the steps, the input and rare members, in any partition", async () => {
    t = await openEngine({ partitions: 3 });
    await t.submit({ id: "a", priority: 5, query: { page: "2" }, webhook: "https://example.com/" });
    const partition = t.keys.partitionOf("a");
    const request = { queue: "jobs", worker: "w", reservation: "r", count: 1, leaseMs: 60_000 };
    const { tasks } = await t.engine.leases.reserve({ ...request, rate: undefined });
    const lease = { queue: "jobs", id: "a", fence: tasks[0]?.fence ?? "" };
    const step = (name: string, value: string, undo = false) =>
      t.scripts.step(t.keys.tag(partition), { ...lease, verb: "keep", name, value, undo, max: 10, bytes: 1e6 });
    await step("second thoughts", '{"a":1}', true);
    await step("long", `"${"x".repeat(5000)}"`);
    const details = await t.engine.call("details", { id: "a", queue: "jobs" });
    expect(details).to.include({ priority: 5, query: '{"page":"2"}', webhook: "https://example.com/", stepCount: 2 });
    expect(details?.steps).to.deep.equal([
      { name: "second thoughts", number: 0, state: "done", undoable: true, bytes: 7, value: '{"a":1}' },
      { name: "long", number: 1, state: "done", undoable: false, bytes: 5002, value: null },
    ]);
    expect(String(details?.input)).to.equal('{"n":1}');
    expect(await t.engine.call("details", { id: "nobody", queue: "jobs" })).to.equal(null);
    const long = "y".repeat(30_000);
    await t.submit({ id: "b", input: long });
    expect((await t.engine.call("details", { id: "b", queue: "jobs" }))?.input).to.equal(30_000);
  });
});
