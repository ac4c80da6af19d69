import { expect } from "chai";
import { openEngine, type TestEngine } from "../../helpers/engine.ts";

describe("taking a sample of queues", () => {
  let t: TestEngine;
  beforeEach(async () => {
    t = await openEngine();
  });
  afterEach(() => t.close());

  it("says whether all of them are empty, to the process that takes it", async () => {
    const sample = async (process: string) =>
      (await t.scripts.sample(t.keys.tag(0), { process, queues: ["jobs", "other"], wereEmpty: false })).empty;
    expect(await sample("p")).to.equal(true);
    await t.submit({ id: "a" });
    // If an interval has ended meanwhile, the next one to ask takes its sample.
    expect(await sample("p")).to.equal(false);
    await t.engine.call("cancel", { id: "a", queue: "jobs" });
    expect(await sample("p")).to.equal(true);
  });
});
