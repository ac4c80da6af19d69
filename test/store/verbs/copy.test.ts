import { expect } from "chai";
import { failureOf, openEngine, resultOf, type TestEngine } from "../../helpers/engine.ts";
import { submissionOf } from "../../shared/submission.ts";

const KEY = { key: "k" };
/** Too long for the record of a task. */
const LONG = "x".repeat(400);

describe("the copy of a task", () => {
  let t: TestEngine;
  beforeEach(async () => {
    t = await openEngine({ settings: { attempts: 1, keyedConcurrency: 1 } });
  });
  afterEach(() => t.close());

  const copyOf = async (id: string) => {
    const [parts = []] = await t.scripts.copy(t.keys.tag(0), [id]);
    return new Map(parts.map((part) => [part.key, { ...part, items: part.items.map(String) }]));
  };
  const take = async () => {
    const [task] = await t.reserve();
    return { queue: "jobs", id: task?.id ?? "", fence: task?.fence ?? "" };
  };

  it("has its record, all that belongs to it, and its places in the indexes", async () => {
    await t.submit({ id: "a", input: JSON.stringify(LONG), deadlineMs: 60_000, ...KEY });
    await t.submit({ id: "b" });
    expect([...(await copyOf("b")).keys()].sort()).to.deep.equal(["p:jobs", "t:b", "w:jobs"]);
    const lease = await take();
    await t.engine.steps.keep(lease, { name: "step", value: "1", undo: false }, 1e6);
    await t.engine.outputs.write(lease, ["2"], { maxBytes: 100, all: false });
    const copy = await copyOf("a");
    expect([...copy].map(([key, { type }]) => `${key} ${type}`).sort()).to.deep.equal([
      ...["b:a string", "c:jobs zset", "l:jobs zset", "o:a list", "pk:jobs =k zset", "s:a hash", "t:a hash"],
    ]);
    expect(copy.get("b:a")?.items).to.deep.equal([JSON.stringify(LONG)]);
    expect(copy.get("o:a")?.items).to.deep.equal(["1 1 2"]);
    expect(copy.get("s:a")?.items).to.deep.equal(["step", "0 1"]);
    expect(copy.get("l:jobs")?.items).to.deep.equal(["a", await t.redis.zscore(t.key("leases"), "a")]);
    expect([...copy.values()].map(({ expiresMs }) => expiresMs)).to.deep.equal([0, 0, 0, 0, 0, 0, 0]);
  });

  it("says when each part expires", async () => {
    await t.submit({ id: "done" });
    await t.submit({ id: "dead" });
    const before = Date.now();
    await t.engine.leases.complete(await take(), resultOf(LONG), t.settings);
    await t.engine.leases.fail(await take(), failureOf("retry"), t.settings);
    const [done, dead] = [await copyOf("done"), await copyOf("dead")];
    expect([...done.keys()].sort()).to.deep.equal(["r:done", "t:done"]);
    expect([...dead.keys()].sort()).to.deep.equal(["t:dead", "x:jobs"]);
    expect(done.get("r:done")?.expiresMs).to.be.within(before, Date.now() + t.settings.resultTtlMs);
    expect(dead.get("x:jobs")?.expiresMs).to.equal(0);
  });

  it("is only the record if that is damaged, and nothing of an unknown task", async () => {
    await t.redis.hset(t.key("task", "damaged"), "other", "field");
    expect([...(await copyOf("damaged")).keys()]).to.deep.equal(["t:damaged"]);
    expect(await t.scripts.copy(t.keys.tag(0), ["unknown"])).to.deep.equal([[]]);
  });

  it("comes with those of others until the answer is long enough", async () => {
    const large = "x".repeat(600_000);
    for (const id of ["a", "b", "c"]) await t.engine.tasks.submit(submissionOf(id, "jobs", large), t.settings);
    expect(await t.scripts.copy(t.keys.tag(0), ["a", "b", "c"])).to.have.length(2);
  });
});
