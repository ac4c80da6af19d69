import { expect } from "chai";
import { isAllocated } from "../../../src/extras/allocations/ids.ts";
import * as VERBS from "../../../src/extras/allocations/verbs.ts";
import { openEngine, type TestEngine } from "../../helpers/engine.ts";
import { eventually } from "../../shared/eventually.ts";

describe("ids that are kept for later tasks", () => {
  let t: TestEngine;
  before(async () => {
    t = await openEngine();
  });
  after(() => t.close());

  const verbs = () => t.scripts.of(VERBS);
  const allocate = (id: string, value = "ann", ttlMs = 60_000) =>
    verbs().allocate(t.keys.tag(0), { id, value, ttlMs, queue: "jobs", limit: 9 });
  const allocation = (id: string) => verbs().allocation(t.keys.tag(0), { id });

  it("are given once, with what is stored with them, until they are handed back", async () => {
    expect(await allocation("a")).to.equal(null);
    expect(await allocate("a")).to.include({ verdict: "kept" });
    expect(await allocate("a")).to.include({ verdict: "kept" });
    expect(await allocate("a", "bob")).to.include({ verdict: "taken" });
    expect(await allocation("a")).to.equal("ann");
    await verbs().deallocate(t.keys.tag(0), { id: "a", queue: "jobs" });
    expect(await allocation("a")).to.equal(null);
    expect(await allocate("a", "bob")).to.include({ verdict: "kept" });
  });

  it("leave nothing behind once they have expired", async () => {
    await allocate("short", "ann", 50);
    await allocate("long");
    await eventually(async () => (await t.redis.exists(t.key("allocation", "short"))) === 0);
    await allocate("longer");
    const kept = await t.redis.zrange(t.key("kept"), "0", "-1");
    expect(kept).to.include.members(["long", "longer"]).and.not.include("short");
  });

  it("have a form that no id of a caller has by chance", () => {
    const id = "a-00000000-0000-4000-8000-000000000000";
    expect(isAllocated(id)).to.equal(true);
    for (const other of [`b${id}`, `${id}0`, id.slice(0, -1), id.replaceAll("0", "x"), id.replaceAll("-", "")])
      expect(isAllocated(other), other).to.equal(false);
  });
});
