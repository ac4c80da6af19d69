import { expect } from "chai";
import { openEngine, type TestEngine } from "../helpers/engine.ts";
import { storedKey, TASK } from "../helpers/store/stored.ts";

describe("the line of a queue", () => {
  let t: TestEngine;
  beforeEach(async () => {
    t = await openEngine();
  });
  afterEach(() => t.close());

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
