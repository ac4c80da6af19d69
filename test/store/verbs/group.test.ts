import { expect } from "chai";
import { openEngine, type TestEngine } from "../../helpers/engine.ts";

describe("a group in a keyed line", () => {
  let t: TestEngine;
  beforeEach(async () => {
    t = await openEngine({ settings: { keyedConcurrency: 2 } });
  });
  afterEach(() => t.close());

  it("has the turn of its last member: how many tasks of the key must end first, and how many start before it", async () => {
    const group = await t.engine.groups.open({ id: null, caller: null, webhook: null }, t.settings);
    if (typeof group === "string") throw new Error(group);
    await t.submit({ key: "other" });
    for (const [line, id] of ["a", "b", "c", "d"].entries()) {
      await t.submit({ id, key: "k", member: { group: group.id, line } });
    }
    const { groups } = await t.scripts.group(t.keys.tag(0), [group.id]);
    expect(groups[0]).to.deep.include({ index: 4, turn: { before: 3, ends: 2, limit: 2 } });
  });
});
