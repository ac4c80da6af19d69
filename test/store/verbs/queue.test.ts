import { expect } from "chai";
import { SHARED } from "../../../src/store/constants.ts";
import { BUSY_MS } from "../../helpers/busy.ts";
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

  it("say for how long the first scheduled task is overdue, and the first in line has waited", async () => {
    await t.submit({ id: "waits" });
    for (const id of ["due", "later"]) await t.submit({ id, delayMs: 60_000 });
    expect(await figures()).to.include({ lateMs: null });
    expect((await figures())?.oldestWaitingMs).to.be.within(0, 60_000);
    await t.redis.zadd(t.key("scheduled"), "XX", Date.now() - 100_000, "due");
    expect((await figures())?.lateMs).to.be.within(100_000, 100_000 + BUSY_MS);
    await t.engine.maintenance.tick(0);
    expect(await figures()).to.include({ lateMs: null });
  });
});
