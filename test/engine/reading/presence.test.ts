import { expect } from "chai";
import { isLookDue, keptUntil, longestPauseS } from "../../../src/engine/reading/presence.ts";

const NOW = 1_000_000;
const SPAN_MS = 9000;

describe("a look at a task with a presence", () => {
  const task = (over: Partial<Parameters<typeof isLookDue>[0]> = {}) => ({
    ...({ state: "waiting", cancelRequested: false, presenceMs: SPAN_MS, deadlineMs: null, group: null } as const),
    presentUntilMs: NOW + SPAN_MS,
    ...over,
  });
  const left = (ms: number) => ({ presentUntilMs: NOW + ms });

  it("is stored once a third of the presence has passed", () => {
    expect(isLookDue(task(left(SPAN_MS)), NOW)).to.equal(false);
    expect(isLookDue(task(left(6001)), NOW)).to.equal(false);
    expect(isLookDue(task(left(6000)), NOW)).to.equal(true);
    expect(isLookDue(task(left(-1)), NOW)).to.equal(true);
  });

  it("is stored if the clock was set back, or the entry of the task was lost", () => {
    expect(isLookDue(task(left(SPAN_MS + 1)), NOW)).to.equal(true);
    expect(isLookDue(task({ presentUntilMs: null }), NOW)).to.equal(true);
  });

  it("is not stored if it would change nothing", () => {
    expect(isLookDue(task({ ...left(1), presenceMs: null }), NOW)).to.equal(false);
    expect(isLookDue(task({ ...left(1), cancelRequested: true }), NOW)).to.equal(false);
    expect(isLookDue(task({ ...left(1), state: "succeeded" }), NOW)).to.equal(false);
    // It is kept until its deadline already.
    expect(isLookDue(task({ ...left(1), deadlineMs: NOW + 1 }), NOW)).to.equal(false);
    expect(isLookDue(task({ ...left(1), deadlineMs: NOW + 2 }), NOW)).to.equal(true);
  });

  it("keeps the task for its presence, but not beyond its deadline", () => {
    expect(keptUntil(task(), NOW)).to.equal(NOW + SPAN_MS);
    expect(keptUntil(task({ deadlineMs: NOW + 5 }), NOW)).to.equal(NOW + 5);
    expect(keptUntil(task({ deadlineMs: NOW + SPAN_MS + 5 }), NOW)).to.equal(NOW + SPAN_MS);
  });

  it("is asked for once in each third", () => {
    expect(longestPauseS(SPAN_MS)).to.equal(3);
    expect(longestPauseS(8000)).to.equal(2);
    expect(longestPauseS(null)).to.equal(Number.POSITIVE_INFINITY);
  });
});
