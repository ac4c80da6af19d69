import { expect } from "chai";
import { openEngine, type TestEngine } from "../../helpers/engine.ts";

describe("the steps of a task", () => {
  let t: TestEngine;
  beforeEach(async () => {
    t = await openEngine();
  });
  afterEach(() => t.close());

  /** A task is taken; returns what keeps a step of it, where there is room for so many bytes and steps. */
  const keeping = async () => {
    await t.submit({ id: "a" });
    const [task] = await t.reserve();
    const lease = { queue: "jobs", id: "a", fence: task?.fence ?? "" };
    return async (name: string, value: string, bytes: number, max = 10) => {
      const call = { ...lease, verb: "keep", name, value, undo: false, bytes, max } as const;
      return (await t.scripts.step(t.keys.tag(0), call)).verdict;
    };
  };

  it("fit if they have as many bytes as are allowed, and not one more", async () => {
    const keep = await keeping();
    // Its name, its number, a space, its value.
    const bytes = "one0 1".length;
    expect(await keep("one", "1", bytes - 1)).to.equal("large");
    expect(await keep("one", "1", bytes)).to.equal("ok");
    expect(await keep("two", "2", 2 * bytes - 1)).to.equal("large");
    expect(await keep("two", "2", 2 * bytes)).to.equal("ok");
    // Instead of the first value.
    expect(await keep("one", "3", 2 * bytes)).to.equal("ok");
  });

  it("are as many as are allowed, and can still be kept again", async () => {
    const keep = await keeping();
    for (const name of ["one", "two"]) expect(await keep(name, "1", 100, 2)).to.equal("ok");
    expect(await keep("three", "1", 100, 2)).to.equal("many");
    expect(await keep("two", "2", 100, 2)).to.equal("ok");
  });
});
