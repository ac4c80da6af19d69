import { expect } from "chai";
import type { VerifyItems } from "../../../src/store/verbs/verify.ts";
import { openEngine, type TestEngine } from "../../helpers/engine.ts";

describe("a check of a part of the store", () => {
  let t: TestEngine;
  beforeEach(async () => {
    t = await openEngine({ settings: { keyedConcurrency: 1 } });
  });
  afterEach(() => t.close());

  const check = (id: string, heal: boolean, name?: NonNullable<VerifyItems["index"]>["name"], queue = "jobs") =>
    t.scripts.verify(t.keys.tag(0), { ids: [id], heal, ...(name && { index: { name, queue } }) });
  /** It is found without being changed, then repaired, and then found no more. */
  const repairs = async (...[id, ...index]: [id: string, name?: Parameters<typeof check>[2], queue?: string]) => {
    for (const heal of [false, true]) expect(await check(id, heal, ...index)).to.deep.equal([id]);
    expect(await check(id, false, ...index)).to.deep.equal([]);
  };

  it("finds that a task is not in its place in the line of its key, and what is there but has ended", async () => {
    await t.submit({ id: "later", key: "k", delayMs: 60_000 });
    const line = t.key("keyLine", "jobs =k");
    const right = await t.redis.zrange(line, "0", "-1", "WITHSCORES");
    expect(await check("later", false)).to.deep.equal([]);
    for (const score of [-1, 1]) {
      await t.redis.zadd(line, score, "later");
      await repairs("later");
    }
    await t.redis.zrem(line, "later");
    await repairs("later");
    await t.redis.zadd(line, -1, "gone");
    await repairs("gone", "keyLine", "jobs =k");
    expect(await t.redis.zrange(line, "0", "-1", "WITHSCORES")).to.deep.equal(right);
  });

  it("finds what is among the tasks that may start, but does not wait", async () => {
    await t.submit({ id: "runs", key: "k" });
    await t.submit({ id: "waits", key: "l" });
    await t.reserve();
    for (const id of ["runs", "gone"]) {
      await t.redis.zadd(t.key("startable"), 1, id);
      await repairs(id, "startable");
    }
    expect(await check("waits", true, "startable")).to.deep.equal([]);
    expect(await t.redis.zrange(t.key("startable"), "0", "-1")).to.deep.equal(["waits"]);
  });

  it("skips an entry that has left since it was read", async () => {
    await t.submit({ id: "a", key: "k" });
    const [task] = await t.reserve();
    await t.engine.call("release", { queue: "jobs", id: "a", fence: task?.fence ?? "" });
    expect(await check("a", true, "leases")).to.deep.equal([]);
    await t.reserve();
    for (const name of ["waiting", "startable"] as const) expect(await check("a", true, name)).to.deep.equal([]);
    expect(await check("a", true, "keyLine", "jobs =other")).to.deep.equal([]);
    expect((await t.look("a")).state).to.equal("running");
  });
});
