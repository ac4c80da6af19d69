import { expect } from "chai";
import type { Index } from "../../src/store/keys.ts";
import { openEngine, type TestEngine } from "../helpers/engine.ts";
import { storedKey } from "../helpers/store/stored.ts";

const DAY_MS = 86_400_000;

describe("a queue without a handler in any process", () => {
  let before: TestEngine;
  let after: TestEngine;
  beforeEach(async () => {
    before = await openEngine({ settings: { maxLost: 0, deadTtlMs: 60_000 } });
    after = await openEngine({ prefix: before.keys.prefix, queues: [] });
  });
  afterEach(async () => {
    await after.close();
    await before.close();
  });
  const past = (index: Index, id: string, score = 1) => before.redis.zadd(before.key(index), "XX", score, id);

  it("is maintained by all processes: tasks come due, leases end, dead letters expire", async () => {
    await before.engine.upkeep.tick(0);
    await before.submit({ id: "runs" });
    await before.reserve(1);
    await before.submit({ id: "later", delayMs: DAY_MS });
    await past("scheduled", "later");
    expect(await after.engine.upkeep.tick(0)).to.deep.include({ promoted: 1 });
    expect((await after.engine.inspector.inspect("later", { result: false }))?.state).to.equal("waiting");
    await past("leases", "runs");
    // By the settings that it had: here no task survives a loss.
    expect((await after.engine.upkeep.tick(0)).lost).to.deep.include.members([
      { queue: "jobs", id: "runs", worker: "w1", losses: 1, outcome: "dead" },
    ]);
    await past("dead", "runs", Date.now() - 61_000);
    await after.engine.upkeep.tick(0);
    expect(await before.redis.zcard(before.key("dead"))).to.equal(0);
  });

  it("is registered again after the store was emptied, as long as a process has its handler", async () => {
    await before.engine.upkeep.tick(0);
    await before.redis.del(storedKey(before.keys.tag(0), "queues"));
    const restarted = await openEngine({ prefix: before.keys.prefix });
    await restarted.engine.upkeep.tick(0);
    await restarted.submit({ id: "later", delayMs: DAY_MS });
    await past("scheduled", "later");
    expect(await after.engine.upkeep.tick(0)).to.deep.include({ promoted: 1 });
    await restarted.close();
  });

  it("is deleted a day later, unless it holds tasks", async () => {
    await before.engine.upkeep.tick(0);
    const registered = async () =>
      (await after.scripts.register(after.keys.tag(0), { queues: [], deleteAfterMs: 0 })).map(({ queue }) => queue);
    await before.submit({ id: "waits" });
    expect(await registered()).to.deep.equal(["jobs"]);
    await before.engine.call("cancel", { id: "waits", queue: "jobs" });
    // As if the clock had been set back meanwhile.
    const ticked = storedKey(before.keys.tag(0), "ticked");
    await before.redis.hset(ticked, "back jobs", "1 - -");
    expect(await registered()).to.deep.equal([]);
    expect((await before.redis.hkeys(ticked)).filter((field) => field.includes("jobs"))).to.deep.equal([]);
  });
});
