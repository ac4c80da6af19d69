import { expect } from "chai";
import { openEngine, type TestEngine } from "../../helpers/engine.ts";

describe("the place of a newcomer in the figures of a queue", () => {
  let t: TestEngine;
  let tries = 0;
  beforeEach(async () => {
    t = await openEngine();
  });
  afterEach(() => t.close());

  const join = (key: string, count: number, priority = 3) =>
    Promise.all(
      Array.from({ length: count }, (_, n) => {
        return t.submit({ id: `${key}${priority}-${n}`, share: { key, weight: 1 }, priority });
      }),
    );
  /** Where a task of a key stands that was never seen. */
  const tried = async () => {
    tries += 1;
    const { index } = await t.submit({ id: "new", share: { key: `new${tries}`, weight: 1 }, dryRun: true });
    return index;
  };
  const newcomer = async () => (await t.engine.queues.figures(["jobs"]))[0]?.newcomerIndex;

  it("is that of a key which has nothing waiting, however long the line of others", async () => {
    expect(await newcomer()).to.equal(0);
    await join("A", 500);
    expect(await newcomer()).to.equal(1);
    await join("B", 20);
    await join("C", 5);
    expect(await newcomer())
      .to.equal(await tried())
      .and.to.equal(3);
    await t.reserve(7);
    expect(await newcomer()).to.equal(await tried());
    await join("A", 4, 0);
    await join("D", 2, 7);
    expect(await newcomer())
      .to.equal(await tried())
      .and.to.be.within(4, 8);
  });

  it("is after all tasks in a plain line", async () => {
    for (let n = 0; n < 5; n += 1) await t.submit({ id: `plain${n}` });
    expect(await newcomer()).to.equal(5);
  });
});
