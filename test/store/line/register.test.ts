import { expect } from "chai";
import { openEngine, type TestEngine } from "../../helpers/engine.ts";

const DAY_MS = 86_400_000;

describe("the registered queues", () => {
  let t: TestEngine;
  beforeEach(async () => {
    t = await openEngine();
  });
  afterEach(() => t.close());

  const own = { queue: "jobs", maxLost: 2, keepMs: 1, tombstoneMs: 2, deadMs: 3, leaseMs: 4000 };
  const register = async (queues: readonly (typeof own)[], deleteAfterMs = DAY_MS) => {
    const declared = queues.map((queue) => ({ ...queue, warmup: "70000 8", rate: "" }));
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
