import { expect } from "chai";
import { isKeptByLooks, keptUntil, longestPauseS } from "../../../src/engine/watch/presence.ts";

const NOW = 1_000_000;
const SPAN_MS = 9000;

describe("a look at a task with a presence", () => {
  const task = (over: Partial<Parameters<typeof isKeptByLooks>[0]> = {}) => ({
    ...({ state: "waiting", cancelRequested: false, presenceMs: SPAN_MS, deadlineMs: null, group: null } as const),
    presentUntilMs: NOW + SPAN_MS,
    ...over,
  });
  const left = (ms: number) => ({ presentUntilMs: NOW + ms });

  it("is stored, however much is left, and also if the entry of the task was lost", () => {
    for (const ms of [SPAN_MS + 1, SPAN_MS, 1, -1]) expect(isKeptByLooks(task(left(ms)))).to.equal(true);
    expect(isKeptByLooks(task({ presentUntilMs: null }))).to.equal(true);
  });

  it("is not stored if it would change nothing", () => {
    expect(isKeptByLooks(task({ ...left(1), presenceMs: null }))).to.equal(false);
    expect(isKeptByLooks(task({ ...left(1), cancelRequested: true }))).to.equal(false);
    expect(isKeptByLooks(task({ ...left(1), state: "succeeded" }))).to.equal(false);
    // It is kept until its deadline already.
    expect(isKeptByLooks(task({ ...left(1), deadlineMs: NOW + 1 }))).to.equal(false);
    expect(isKeptByLooks(task({ ...left(1), deadlineMs: NOW + 2 }))).to.equal(true);
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
