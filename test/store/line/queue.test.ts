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

const DAY_MS = 86_400_000;

describe("the registered queues", () => {
  let t: TestEngine;
  beforeEach(async () => {
    t = await openEngine();
  });
  afterEach(() => t.close());

  const own = { queue: "jobs", maxLost: 2, keepMs: 1, tombstoneMs: 2, deadMs: 3, leaseMs: 4000 };
  const register = async (queues: readonly (typeof own)[], deleteAfterMs = DAY_MS) => {
    const declared = queues.map((queue) => ({ ...queue, warmup: "70000 8", rate: "", total: "" }));
    const all = await t.scripts.register(t.keys.tag(0), { queues: declared, deleteAfterMs });
    return all.map(({ silentMs: _, ...queue }) => queue);
  };

  it("are told to processes that have no handler for them, with their leases", async () => {
    const other = { ...own, queue: "other", leaseMs: 5000 };
    expect(await register([own])).to.deep.equal([own]);
    expect(await register([other])).to.have.deep.members([own, other]);
    expect(await register([])).to.have.deep.members([own, other]);
  });

  it("are forgotten when nobody has a handler for them and they hold no tasks, with their leases", async () => {
    await register([own]);
    await t.submit({ id: "waits" });
    expect(await register([], -1)).to.deep.equal([own]);
    await t.engine.call("cancel", { id: "waits", queue: "jobs" });
    expect(await register([], -1)).to.deep.equal([]);
    expect(await register([])).to.deep.equal([]);
    expect(await t.redis.hkeys(t.key("ticked")))
      .to.not.include("lease jobs")
      .and.not.include("warmup jobs");
  });
});
