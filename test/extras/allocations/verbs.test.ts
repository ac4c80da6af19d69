import { expect } from "chai";
import * as VERBS from "../../../src/extras/allocations/verbs.ts";
import { openEngine, type TestEngine } from "../../helpers/engine.ts";
import { eventually } from "../../shared/eventually.ts";
import { submissionOf } from "../../shared/submission.ts";

describe("ids that are kept for later tasks", () => {
  let t: TestEngine;
  beforeEach(async () => {
    t = await openEngine();
  });
  afterEach(() => t.close());

  const verbs = () => t.scripts.of(VERBS);
  const allocate = (id: string, value = "ann", ttlMs = 60_000) =>
    verbs().allocate(t.keys.tag(0), { id, value, ttlMs, queue: "jobs", limit: 3 });
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
    await verbs().deallocate(t.keys.tag(0), { id: "a", queue: "jobs" });
    expect((await submit("c")).verdict).to.equal("new");
  });

  it("leave nothing behind once they have expired", async () => {
    await allocate("short", "ann", 500);
    await allocate("long");
    await eventually(async () => (await t.redis.exists(t.key("allocation", "short"))) === 0);
    await allocate("longer");
    expect(await t.redis.zrange(t.key("kept"), "0", "-1")).to.have.members(["long", "longer"]);
  });

  it("count once when their task is submitted", async () => {
    await allocate("allocated");
    const submit = (id: string) =>
      t.engine.submitter.submit(submissionOf(id, "jobs", "1"), { ...t.settings, maxWaiting: 2 });
    expect((await submit("allocated")).verdict).to.equal("new");
    expect((await submit("second")).verdict).to.equal("new");
    expect((await submit("third")).verdict).to.equal("full");
  });
});
