import { setTimeout as delay } from "node:timers/promises";
import { expect } from "chai";
import { progressOf, Reporter } from "../../../src/workers/attempt/reporter.ts";
import { eventually } from "../../shared/eventually.ts";

describe("the progress that a handler reports", () => {
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
    await eventually(() => sent.length > 1);
    reporter.report(4, "");
    await eventually(() => sent.length > 2);
    expect(sent.map(({ percent }) => percent)).to.deep.equal([1, 3, 4]);
    const [first, second, third] = sent.map(({ atMs }) => atMs);
    expect(Number(second) - Number(first)).to.be.at.least(99);
    expect(Number(third) - Number(second)).to.be.at.least(99);
  });

  it("is sent one report at a time by a slow store; a report that fails does not hinder the next", async () => {
    let [underway, most] = [0, 0];
    const sent: number[] = [];
    const failures: unknown[] = [];
    const reporter = new Reporter(
      async (percent) => {
        sent.push(percent);
        underway += 1;
        most = Math.max(most, underway);
        await delay(150);
        underway -= 1;
        if (percent === 1) throw new Error("refused");
      },
      (error) => failures.push(error),
    );
    for (const percent of [1, 2]) reporter.report(percent, "");
    await eventually(() => sent.length === 2 && underway === 0);
    expect([sent, most, failures.map(String)]).to.deep.equal([[1, 2], 1, ["Error: refused"]]);
  });
});
