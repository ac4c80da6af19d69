import { expect } from "chai";
import { SHARED } from "../../../src/store/constants.ts";
import { openEngine, type TestEngine } from "../../helpers/engine.ts";

describe("the figures of a queue in one partition", () => {
  let t: TestEngine;
  beforeEach(async () => {
    t = await openEngine();
  });
  afterEach(() => t.close());

  const figures = async () => (await t.scripts.queue(t.keys.tag(0), ["jobs"]))[0];

  it("say whether its circuit breaker is open, also for estimates", async () => {
    expect(await figures())
      .to.deep.include({ breaker: null })
      .and.have.nested.property("snapshot.breakerOpen", false);
    for (let n = 0; n < SHARED.breakerFailures; n += 1) {
      const failure = { queue: "jobs", reference: `t@${n}`, state: "down", reason: "refused", request: "" } as const;
      await t.scripts.breakerReport(t.keys.tag(0), failure);
    }
    const open = await figures();
    expect(open?.breaker).to.include({ reason: "refused" });
    expect(open?.snapshot.breakerOpen).to.equal(true);
  });
});
