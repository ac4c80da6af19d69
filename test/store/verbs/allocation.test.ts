import { expect } from "chai";
import { openEngine, type TestEngine } from "../../helpers/engine.ts";
import { submissionOf } from "../../shared/submission.ts";

describe("ids that are kept for later tasks", () => {
  let t: TestEngine;
  beforeEach(async () => {
    t = await openEngine();
  });
  afterEach(() => t.close());

  const allocate = (id: string, value = "ann") =>
    t.scripts.allocate(t.keys.tag(0), { id, value, ttlMs: 60_000, queue: "jobs", limit: 3 });
  const allocation = (id: string) => t.scripts.allocation(t.keys.tag(0), { id });

  it("are given once, with what is stored with them, until they are handed back", async () => {
    expect(await allocation("a")).to.equal(null);
    expect(await allocate("a")).to.include({ verdict: "kept" });
    expect(await allocate("a")).to.include({ verdict: "kept" });
    expect(await allocate("a", "bob")).to.include({ verdict: "taken" });
    expect(await allocation("a")).to.equal("ann");
    await t.scripts.deallocate(t.keys.tag(0), { id: "a", queue: "jobs" });
    expect(await allocation("a")).to.equal(null);
    expect(await allocate("a", "bob")).to.include({ verdict: "kept" });
  });

  it("count as waiting tasks, and are refused with the counts once the queue is full", async () => {
    await t.submit();
    await t.submit({ delayMs: 60_000 });
    expect(await allocate("a")).to.deep.equal({ verdict: "kept", waiting: 0, scheduled: 0 });
    await t.submit({ delayMs: 60_000 });
    expect(await allocate("b")).to.deep.equal({ verdict: "full", waiting: 1, scheduled: 2 });
  });

  it("leave as much less room for submissions", async () => {
    const submit = (id: string) =>
      t.engine.submitter.submit(submissionOf(id, "jobs", "1"), { ...t.settings, maxWaiting: 2 });
    await allocate("a");
    expect((await submit("b")).verdict).to.equal("new");
    expect((await submit("c")).verdict).to.equal("full");
    await t.scripts.deallocate(t.keys.tag(0), { id: "a", queue: "jobs" });
    expect((await submit("c")).verdict).to.equal("new");
  });
});
