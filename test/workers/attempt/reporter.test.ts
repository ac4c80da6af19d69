import { expect } from "chai";
import { progressOf, Reporter } from "../../../src/workers/attempt/reporter.ts";
import { deferred } from "../../helpers/deferred.ts";
import { type FakeTime, fakeTime } from "../../helpers/fake-time.ts";

describe("the progress that a handler reports", () => {
  let time: FakeTime;
  beforeEach(() => {
    time = fakeTime();
  });
  afterEach(() => time.end());

  it("is between 0 and 100, with one decimal; its message is cut", () => {
    const percentages = [-1, 0, 33.36, 100, 100.1, Number.NaN, Number.POSITIVE_INFINITY];
    expect(percentages.map((percent) => progressOf(percent, "").percent)).to.deep.equal([0, 0, 33.4, 100, 100, 0, 0]);
    expect(progressOf(1, "x".repeat(1000)).message).to.have.length(200);
    expect(progressOf(1, 7 as unknown as string).message).to.equal("7");
  });

  it("is sent at once, and then at most ten times a second, the last one always", async () => {
    const sent: { readonly percent: number; readonly atMs: number }[] = [];
    const reporter = new Reporter((percent) => sent.push({ percent, atMs: performance.now() }));
    for (const percent of [1, 2, 3]) reporter.report(percent, "");
    expect(sent.map(({ percent }) => percent)).to.deep.equal([1]);
    await time.pass(150);
    reporter.report(4, "");
    await time.pass(200);
    expect(sent.map(({ percent }) => percent)).to.deep.equal([1, 3, 4]);
    const [first, second, third] = sent.map(({ atMs }) => atMs);
    expect(Number(second) - Number(first)).to.be.within(99, 101);
    expect(Number(third) - Number(second)).to.be.within(99, 101);
  });

  it("is sent one report at a time by a slow store; a report that fails does not hinder the next", async () => {
    const sent: number[] = [];
    const failures: unknown[] = [];
    const first = deferred();
    const reporter = new Reporter(
      async (percent) => {
        sent.push(percent);
        if (percent > 1) return;
        await first.promise;
        throw new Error("refused");
      },
      (error) => failures.push(error),
    );
    for (const percent of [1, 2]) reporter.report(percent, "");
    await time.pass(1000);
    expect(sent).to.deep.equal([1]);
    first.resolve();
    await time.pass(100);
    expect([sent, failures.map(String)]).to.deep.equal([[1, 2], ["Error: refused"]]);
  });
});
