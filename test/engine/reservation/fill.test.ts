import { expect } from "chai";
import { type TakeRequest, takeOrWait } from "../../../src/engine/reservation/take.ts";
import { openEngine, type TestEngine } from "../../helpers/engine.ts";
import { eventually } from "../../shared/eventually.ts";

const never = new AbortController().signal;
/** Longer than any test waits: an answer that comes earlier is full. */
const LONG_MS = 60_000;

describe("a request for work that waits to be filled", () => {
  let t: TestEngine;
  afterEach(() => t.close());

  const ask = (given: Partial<TakeRequest> = {}) => {
    const request = { queue: "jobs", worker: "remote", reservation: "r", count: 3, leaseMs: 600_000, fillMs: LONG_MS };
    return takeOrWait(t.engine, { ...request, ...given }, Date.now(), never);
  };
  const counts = async () => {
    const [row] = await t.engine.queues.figures(["jobs"]);
    return [row?.snapshot.waiting, row?.snapshot.running];
  };

  for (const partitions of [1, 3]) {
    it(`is answered as soon as it has all, with ${partitions} partitions; a repetition gets the same tasks`, async () => {
      t = await openEngine({ partitions });
      await t.submit({ id: "first" });
      const asked = ask();
      await eventually(async () => (await counts())[1] === 1);
      await t.submit({ id: "second" });
      await t.submit({ id: "third" });
      const { tasks } = await asked;
      expect(tasks.map(({ id }) => id)).to.have.members(["first", "second", "third"]);
      await t.submit({ id: "fourth" });
      const again = await ask();
      const fences = (of: typeof tasks) => of.map(({ id, fence }) => `${id} ${fence}`);
      expect(fences(again.tasks)).to.deep.equal(fences(tasks));
      expect(await counts()).to.deep.equal([1, 3]);
    });
  }

  it("is answered with what it has when the time is over, at the latest when half of its lease is", async () => {
    t = await openEngine();
    for (const [n, given] of [{ fillMs: 30 }, { leaseMs: 1000 }].entries()) {
      await t.submit({ id: `only-${n}` });
      const { tasks } = await ask({ reservation: `r${n}`, ...given });
      expect(tasks.map(({ id }) => id)).to.deep.equal([`only-${n}`]);
    }
  });

  it("hands back all its tasks if the worker has gone", async () => {
    t = await openEngine();
    await t.submit({ id: "first" });
    const asked = ask({ count: 2 });
    await eventually(async () => (await counts())[1] === 1);
    await t.submit({ id: "second" });
    const { handBack } = await asked;
    expect(await counts()).to.deep.equal([0, 2]);
    await handBack();
    expect(await counts()).to.deep.equal([2, 0]);
  });

  it("does not wait without a task", async () => {
    t = await openEngine();
    expect((await ask()).tasks).to.deep.equal([]);
  });
});
