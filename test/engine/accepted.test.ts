import { expect } from "chai";
import { openEngine, type TestEngine } from "../helpers/engine.ts";

describe("a task that an engine has accepted", () => {
  let t: TestEngine;
  afterEach(() => t.close());

  it("lets ticks know when something is due: its start, its deadline, or the end of its presence", async () => {
    t = await openEngine();
    const due: unknown[] = [];
    t.engine.upkeep.onDue((...given) => due.push(given));
    const noted = async (options: Parameters<TestEngine["submit"]>[0]) => {
      await t.submit(options);
      return due.splice(0);
    };
    expect(await noted({})).to.deep.equal([]);
    expect(await noted({ delayMs: 5000 })).to.deep.equal([[0, 5000]]);
    expect(await noted({ deadlineMs: 7000 })).to.deep.equal([[0, 7000]]);
    expect(await noted({ deadlineMs: 9000, presenceMs: 6000 })).to.deep.equal([[0, 6000]]);
    expect(await noted({ delayMs: 5000, deadlineMs: 7000 })).to.have.deep.members([
      [0, 5000],
      [0, 7000],
    ]);
  });

  it("may be part of the sample of estimates, by its place in line, unless it starts when others end or a time comes", async () => {
    t = await openEngine({ settings: { keyedConcurrency: 1 } });
    const offered: unknown[] = [];
    t.engine.sample.offer = (id, index) => offered.push([id, index]);
    await t.submit({ id: "first", key: "a" });
    await t.submit({ id: "held", key: "a" });
    await t.submit({ id: "other", key: "b" });
    await t.submit({ id: "later", key: "c", delayMs: 5000 });
    expect(offered).to.deep.equal([
      ["first", 0],
      // The held one does not count.
      ["other", 1],
    ]);
  });
});
