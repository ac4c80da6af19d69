import { expect } from "chai";
import type { VerifyItems } from "../../../src/store/ops/verify.ts";
import { openEngine, type TestEngine } from "../../helpers/engine.ts";

describe("a check of a part of the store", () => {
  let t: TestEngine;
  beforeEach(async () => {
    t = await openEngine({ settings: { keyedConcurrency: 1 } });
  });
  afterEach(() => t.close());

  const check = (id: string, heal: boolean, name?: NonNullable<VerifyItems["index"]>["name"], queue = "jobs") =>
    t.scripts.verify(t.keys.tag(0), { ids: [id], heal, ...(name && { index: { name, queue } }) });

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
