import { expect } from "chai";
import { BUSY_MS } from "../../helpers/busy.ts";
import { openEngine, type TestEngine } from "../../helpers/engine.ts";
import { QUEUE } from "../../helpers/store/stored.ts";

describe("the figures of a queue in one partition", () => {
  let t: TestEngine;
  beforeEach(async () => {
    t = await openEngine();
  });
  afterEach(() => t.close());

  const figures = async () => (await t.scripts.queue(t.keys.tag(0), ["jobs"]))[0];

  it("say whether its gate lets nothing through, also for estimates", async () => {
    expect(await figures())
      .to.deep.include({ rest: null })
      .and.have.nested.property("snapshot.resting", false);
    await t.redis.hset(t.key("queue"), QUEUE.rest, "1 2 0 connection refused");
    const resting = await figures();
    expect(resting?.rest).to.deep.equal({ sinceMs: 1, untilMs: 2, reason: "connection refused" });
    expect(resting?.snapshot.resting).to.equal(true);
  });

  it("say for how long the first scheduled task is overdue, and the first in line has waited", async () => {
    await t.submit({ id: "waits" });
    for (const id of ["due", "later"]) await t.submit({ id, delayMs: 60_000 });
    expect(await figures()).to.include({ lateMs: null });
    expect((await figures())?.oldestWaitingMs).to.be.within(0, 60_000);
    await t.redis.zadd(t.key("scheduled"), "XX", Date.now() - 100_000, "due");
    expect((await figures())?.lateMs).to.be.within(100_000, 100_000 + BUSY_MS);
    await t.engine.upkeep.tick(0);
    expect(await figures()).to.include({ lateMs: null });
  });
});
