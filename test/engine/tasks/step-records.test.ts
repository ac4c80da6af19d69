import { expect } from "chai";
import type { Lease } from "../../../src/store/task/lease.ts";
import { openEngine, type TestEngine } from "../../helpers/engine.ts";

describe("the steps of a task", () => {
  let t: TestEngine;
  let lease: Lease;
  beforeEach(async () => {
    t = await openEngine();
    await t.submit({ id: "a" });
    const [task] = await t.reserve();
    lease = { queue: "jobs", id: "a", fence: task?.fence ?? "" };
  });
  afterEach(() => t.close());

  const keep = (name: string, length: number, maxBytes: number, of = lease) => {
    const value = JSON.stringify("x".repeat(length));
    return t.engine.steps.keep(of, { name, value, undo: false }, maxBytes);
  };

  it("may together take four times the room of one", async () => {
    for (const name of ["a", "b", "c"]) expect(await keep(name, 90, 100)).to.equal("ok");
    expect(await keep("large", 130, 100)).to.equal("large");
    expect(await keep("d", 60, 100)).to.equal("ok");
  });
});
