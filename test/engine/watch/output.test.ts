import { expect } from "chai";
import type { Lease } from "../../../src/store/task/lease.ts";
import type { OutputValue } from "../../../src/store/task/output.ts";
import { openEngine, resultOf, type TestEngine } from "../../helpers/engine.ts";
import { storedKey, TASK } from "../../helpers/store/stored.ts";

const MB = 1_048_576;

describe("the output of a task", () => {
  let t: TestEngine;
  afterEach(() => t.close());

  const start = async (id = "a"): Promise<Lease> => {
    await t.submit({ id });
    return take();
  };
  const take = async (): Promise<Lease> => {
    const [task] = await t.reserve();
    if (!task) throw new Error("nothing to take");
    return { queue: "jobs", id: task.id, fence: task.fence };
  };
  const write = (lease: Lease, values: readonly unknown[], options = {}) =>
    t.engine.outputs.write(
      lease,
      values.map((value) => JSON.stringify(value)),
      { maxBytes: MB, ...options },
    );
  const read = async (id = "a", from = 0): Promise<readonly OutputValue[]> =>
    (await t.engine.outputs.read({ id, queue: "jobs" }, from)).values;
  const key = (id = "a") => storedKey(t.keys.tag(t.keys.partitionOf(id)), "output", id);

  it("is kept in order, as the JSON that was written", async () => {
    t = await openEngine();
    const lease = await start();
    expect(await write(lease, ["one", { n: 2 }])).to.equal(2);
    expect(await write(lease, [null, "ü\n"])).to.equal(2);
    expect(await read()).to.deep.equal(
      ['"one"', '{"n":2}', "null", '"ü\\n"'].map((json) => ({ run: 1, attempt: 1, json })),
    );
    expect((await read("a", 3)).map(({ json }) => json)).to.deep.equal(['"ü\\n"']);
    expect(await t.engine.outputs.read({ id: "a", queue: "jobs" }, 4)).to.deep.equal({ total: 4, values: [] });
    expect(await t.engine.outputs.read({ id: "unheard-of", queue: "jobs" }, 0)).to.deep.equal({ total: 0, values: [] });
  });

  it("has a maximum size: values that do not fit are refused, others are kept", async () => {
    t = await openEngine();
    const lease = await start();
    const maxBytes = 10;
    expect(await write(lease, ["üü", "more"], { maxBytes })).to.equal(1);
    expect(await write(lease, ["ab"], { maxBytes })).to.equal(1);
    expect(await write(lease, [1], { maxBytes })).to.equal(0);
    expect((await read()).map(({ json }) => json)).to.deep.equal(['"üü"', '"ab"']);
  });

  it("is stored once, however often a call is sent again, also after other calls and after the end", async () => {
    t = await openEngine();
    const lease = await start();
    for (const call of ["1a", "1b", "1a", "1c", "1a", "1b"]) {
      expect(await write(lease, [call], { call })).to.equal(1);
    }
    await t.engine.leases.complete(lease, resultOf("done"), t.settings);
    expect(await write(lease, ["1c"], { call: "1c" })).to.equal(1);
    expect((await read()).map(({ json }) => json)).to.deep.equal(['"1a"', '"1b"', '"1c"']);
  });

  it("is read in pages, with no more values than needed", async () => {
    t = await openEngine({ partitions: 3 });
    await t.submit({ id: "a" });
    const { tasks } = await t.engine.leases.reserve({
      ...{ queue: "jobs", worker: "w1", reservation: "r", count: 1, leaseMs: 60_000, rate: undefined },
    });
    const lease = { queue: "jobs", id: "a", fence: tasks[0]?.fence ?? "" };
    for (let n = 0; n < 20; n += 1) await write(lease, [`${"x".repeat(20_000)}${n}`, n]);
    const seen: OutputValue[] = [];
    for (let total = 1; seen.length < total; ) {
      const page = await t.engine.outputs.read({ id: "a", queue: "jobs" }, seen.length);
      expect(page.values.length).to.be.within(1, 10);
      seen.push(...page.values);
      total = page.total;
    }
    expect(seen.flatMap(({ json }, n) => (n % 2 === 0 ? [] : [Number(json)]))).to.deep.equal([...Array(20).keys()]);
  });

  it("adds no field to a task that writes nothing", async () => {
    t = await openEngine();
    await t.engine.leases.complete(await start(), resultOf("done"), t.settings);
    expect(
      await t.redis.hmget(storedKey(t.keys.tag(0), "task", "a"), TASK.output, TASK.restarts, TASK.extra),
    ).to.deep.equal([null, null, null]);
    expect(await t.redis.exists(key())).to.equal(0);
  });
});
