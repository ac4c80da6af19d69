import { expect } from "chai";
import { openEngine, resultOf, type TestEngine } from "../../helpers/engine.ts";

const SLOTS = new Map([["jobs", 8]]);

describe("the estimate of a line with a rate", () => {
  let t: TestEngine;
  afterEach(() => t.close());

  /** A queue with a rate, a worker of eight slots, and one task that has ended at once. */
  const open = async (max: number, perMs: number) => {
    t = await openEngine({ settings: { rate: { max, perMs } } });
    await t.engine.upkeep.tick(0);
    await t.engine.workers.heartbeat("w1", 60_000, SLOTS);
  };
  const run = async (count: number) => {
    for (const { id, fence } of await t.reserve(count)) {
      await t.engine.leases.complete({ id, fence, queue: "jobs" }, resultOf("done"), t.settings);
    }
  };
  const fill = (count: number) => Promise.all(Array.from({ length: count }, (_, n) => t.submit({ id: `t${n}` })));

  it("counts one start a second, before anything has ended and after", async () => {
    await open(1, 1000);
    await fill(60);
    expect((await t.look("t57")).eta).to.deep.include({ basis: "rate", rate: { max: 1, per: "1s" } });
    expect((await t.look("t57")).eta?.seconds).to.be.closeTo(57, 5.7);
    await run(1);
    // One start has been, and 59 wait: the last of them starts 59 s after it.
    const { eta } = await t.look("t59");
    expect(eta?.seconds).to.be.closeTo(59, 5.9);
    expect(eta?.basis).to.equal("rate");
    const [row] = await t.engine.queues.figures(["jobs"]);
    expect(row?.snapshot.rate?.max).to.equal(1);
    const verdict = await t.submit({ id: "late", dryRun: true });
    expect(verdict.snapshot.rate).to.deep.include({ max: 1, perMs: 1000 });
  });

  it("starts from the latest starts: those that the rate still allows are at once", async () => {
    await open(5, 60_000);
    await fill(20);
    await run(3);
    const seconds = async (n: number) => (await t.look(`t${n}`)).eta?.seconds ?? Number.NaN;
    expect(await seconds(4)).to.equal(0);
    expect(await seconds(5)).to.be.within(58, 60.5);
    expect(await seconds(7)).to.be.within(58, 60.5);
    expect(await seconds(13)).to.be.within(118, 121);
  });
});
