import { expect } from "chai";
import { openEngine, type TestEngine } from "../../helpers/engine.ts";

describe("a page of a partition", () => {
  let t: TestEngine;
  beforeEach(async () => {
    t = await openEngine();
  });
  afterEach(() => t.close());

  it("has as many tasks as are asked for, and reads no others", async () => {
    for (const id of ["a", "b", "c", "d"]) await t.submit({ id });
    for (const [isNewestFirst, ids] of [
      [false, ["a", "b"]],
      [true, ["d", "c"]],
    ] as const) {
      const asked = {
        index: "waiting",
        queue: "jobs",
        after: null,
        limit: 2,
        max: 100,
        isNewestFirst,
        filter: {},
      } as const;
      const { entries, looked, more, last } = await t.scripts.page(t.keys.tag(0), asked);
      expect(entries.map(({ id }) => id)).to.deep.equal(ids);
      expect([looked, more, last?.id]).to.deep.equal([2, true, ids[1]]);
    }
  });
});
