import { expect } from "chai";
import { openEngine, resultOf, type TestEngine } from "../../helpers/engine.ts";

describe("a keyed queue with a rate", () => {
  let t: TestEngine;
  beforeEach(async () => {
    t = await openEngine({ settings: { keyedConcurrency: 1 } });
  });
  afterEach(() => t.close());

  it("reports that a task may start when its key becomes free, even while the rate allows none", async () => {
    const rate = { max: 1, perMs: 60_000 };
    const request = { queue: "jobs", worker: "w", count: 1, leaseMs: 15_000, rate };
    await t.submit({ id: "a1", key: "a" });
    await t.submit({ id: "a2", key: "a" });
    const [first] = (await t.engine.leases.reserve({ ...request, reservation: "1" })).tasks;
    expect(first?.id).to.equal("a1");
    const lease = { queue: "jobs", id: "a1", fence: first?.fence ?? "" };
    const completed = t.engine.leases.complete(lease, resultOf("1"), t.settings);
    const { tasks, waiting, pauseMs } = await t.engine.leases.reserve({ ...request, reservation: "2" });
    expect(await completed).to.equal("done");
    expect({ tasks, waiting }).to.deep.equal({ tasks: [], waiting: 1 });
    expect(pauseMs).to.be.within(1, rate.perMs);
  });
});
