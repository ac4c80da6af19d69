import { expect } from "chai";
import { groupAddress } from "../../../src/engine/calls/homes.ts";
import { groupsOf } from "../../../src/extras/groups/groups.ts";
import { openEngine, resultOf, type TestEngine } from "../../helpers/engine.ts";

describe("how long the record of an id is kept", () => {
  let t: TestEngine;
  beforeEach(async () => {
    t = await openEngine();
  });
  afterEach(() => t.close());

  const leftMs = async (id: string) => (await t.scripts.lifetimes(t.keys.tag(0), [id]))[0];

  it("is known of a task only once it has ended, and is no time for an unknown id", async () => {
    expect(await leftMs("a")).to.equal(0);
    await t.submit({ id: "a" });
    expect(await leftMs("a")).to.equal(Number.POSITIVE_INFINITY);
    const [task] = await t.reserve();
    await t.engine.leases.complete({ queue: "jobs", id: "a", fence: task?.fence ?? "" }, resultOf("x"), t.settings);
    expect(await leftMs("a")).to.be.within(1, t.settings.resultTtlMs + t.settings.tombstoneTtlMs);
  });

  it("is that of a group under the address of its pointer", async () => {
    const group = await groupsOf(t.engine).open({ id: "g", caller: null, webhook: null }, t.settings);
    if (typeof group === "string") throw new Error(group);
    expect(await leftMs(groupAddress("g"))).to.equal(Number.POSITIVE_INFINITY);
    await t.submit({ id: "a", member: { group: "g", line: 0 } });
    await group.endBatch({ lines: 1, closes: true });
    await t.engine.call("cancel", { id: "a", queue: "jobs" });
    expect(await leftMs(groupAddress("g"))).to.be.within(1, t.settings.resultTtlMs + t.settings.tombstoneTtlMs);
  });
});
