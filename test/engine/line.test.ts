import { expect } from "chai";
import { move } from "../../src/engine/submission/move.ts";
import { openEngine, type TestEngine } from "../helpers/engine.ts";
import { storedKey, TASK } from "../helpers/store/stored.ts";
import { submissionOf } from "../shared/submission.ts";

describe("the line of a queue", () => {
  let t: TestEngine;
  beforeEach(async () => {
    t = await openEngine();
  });
  afterEach(() => t.close());

  it("gives every task the number of those that will start before it", async () => {
    for (let n = 0; n < 5; n += 1) expect((await t.submit({ id: `a${n}` })).index).to.equal(n);
    const seen = await Promise.all([0, 1, 2, 3, 4].map((n) => t.engine.inspector.inspect(`a${n}`, { result: false })));
    expect(seen.map((s) => s?.index)).to.deep.equal([0, 1, 2, 3, 4]);
    expect(seen.map((s) => s?.ahead)).to.deep.equal([0, 1, 2, 3, 4]);
    await t.reserve(2);
    const later = await t.engine.inspector.inspect("a4", { result: false });
    expect(later).to.include({ index: 2, ahead: 4, state: "waiting" });
    expect(later?.snapshot).to.include({ waiting: 3, running: 2 });
  });

  it("stays first in, first out for ten thousand tasks of the same instant", async () => {
    const ids = Array.from({ length: 10_000 }, (_, n) => `f${n}`);
    const verdicts = await Promise.all(ids.map((id) => t.submit({ id })));
    expect(verdicts.map((v) => v.verdict)).to.not.include("replay");
    const taken: string[] = [];
    while (taken.length < ids.length) taken.push(...(await t.reserve(100)).map((task) => task.id));
    expect(taken).to.deep.equal(ids);
  });

  it("puts an urgent task before all less urgent ones, with its true index", async () => {
    await Promise.all(["n1", "n2", "n3"].map((id) => t.submit({ id })));
    expect((await t.submit({ id: "low", priority: 7 })).index).to.equal(3);
    expect((await t.submit({ id: "urgent", priority: 0 })).index).to.equal(0);
    expect((await t.submit({ id: "n4" })).index).to.equal(4);
    expect((await t.reserve(10)).map((task) => task.id)).to.deep.equal(["urgent", "n1", "n2", "n3", "n4", "low"]);
  });

  it("lets a scheduled task join the class to which it was moved", async () => {
    await t.submit({ id: "later", delayMs: 60_000 });
    await t.submit({ id: "now" });
    expect(await move(t.engine, { id: "later", queue: "jobs" }, { priority: 0 })).to.equal("moved");
    await t.makeDue("later");
    await t.engine.maintenance.tick(0);
    expect((await t.reserve(2)).map(({ id }) => id)).to.deep.equal(["later", "now"]);
  });

  it("is one line, wherever the ids of its tasks lead, also for tasks that are submitted together", async () => {
    const p = await openEngine({ partitions: 3 });
    try {
      const ids = Array.from({ length: 400 }, (_, n) => `p${n}`);
      expect(new Set(ids.map((id) => p.keys.partitionOf(id))).size).to.equal(3);
      const [first = "", ...others] = ids;
      expect((await p.submit({ id: first })).index).to.equal(0);
      const submissions = others.map((id) => submissionOf(id, "jobs", "1"));
      const ends = await p.engine.submitter.submitAll(submissions, p.settings);
      expect(ends.map((end) => end.status === "fulfilled" && end.value.index)).to.deep.equal(
        others.map((_, n) => n + 1),
      );
      const seen = await Promise.all(ids.map((id) => p.engine.inspector.inspect(id, { result: false })));
      expect(seen.map((task) => task?.index)).to.deep.equal([...ids.keys()]);
      expect(seen[0]?.snapshot.waiting).to.equal(ids.length);
    } finally {
      await p.close();
    }
  });

  it("has figures although the record of its first task is damaged", async () => {
    await t.submit({ id: "damaged" });
    await t.redis.hset(storedKey(t.keys.tag(0), "task", "damaged"), TASK.created, "yesterday");
    const [row] = await t.engine.queues.figures(["jobs"]);
    expect(row?.snapshot.waiting).to.equal(1);
    expect(row?.oldestWaitingMs).to.equal(null);
  });
});
