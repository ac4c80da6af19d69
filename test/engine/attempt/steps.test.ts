import { expect } from "chai";
import type { Lease } from "../../../src/store/verbs/lease.ts";
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

  it("are known by name in the order in which they began, with what is to be undone", async () => {
    const { steps } = t.engine;
    expect(await steps.begin(lease, "pay", 100)).to.equal("ok");
    expect(await keep("look", 1, 100)).to.equal("ok");
    expect(await steps.keep(lease, { name: "pay", value: "7", undo: true }, 100)).to.equal("ok");
    expect([...((await steps.all(lease)) ?? [])]).to.deep.equal([
      ["pay", { number: 0, json: "7", undo: "due" }],
      ["look", { number: 1, json: '"x"', undo: "none" }],
    ]);
    expect(await steps.undone(lease, "pay")).to.equal("ok");
    expect((await steps.all(lease))?.get("pay")?.undo).to.equal("done");
  });

  it("may together take four times the room of one", async () => {
    for (const name of ["a", "b", "c"]) expect(await keep(name, 90, 100)).to.equal("ok");
    expect(await keep("large", 130, 100)).to.equal("large");
    expect(await keep("d", 60, 100)).to.equal("ok");
  });

  it("are neither read nor written without the lease", async () => {
    const { steps } = t.engine;
    for (const of of [
      { ...lease, fence: "1" },
      { ...lease, id: "unheard-of" },
    ]) {
      expect(await steps.all(of)).to.equal(null);
      expect(await steps.begin(of, "pay", 100)).to.equal("stale");
      expect(await keep("pay", 1, 100, of)).to.equal("stale");
      expect(await steps.undone(of, "pay")).to.equal("stale");
    }
    expect((await steps.all(lease))?.size).to.equal(0);
  });
});
