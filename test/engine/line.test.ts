import { expect } from "chai";
import { openEngine, type TestEngine } from "../helpers/engine.ts";
import { storedKey, TASK } from "../helpers/store/stored.ts";

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

  it("has figures although the record of its first task is damaged", async () => {
    await t.submit({ id: "damaged" });
    await t.redis.hset(storedKey(t.keys.tag(0), "task", "damaged"), TASK.created, "yesterday");
    const [row] = await t.engine.queues.figures(["jobs"]);
    expect(row?.snapshot.waiting).to.equal(1);
    expect(row?.oldestWaitingMs).to.equal(null);
  });
});
