import { getEventListeners } from "node:events";
import { expect } from "chai";
import { Sleep } from "../../../src/engine/watch/sleep.ts";

const LONG_MS = 60_000;

describe("a sleep", () => {
  it("lasts as long as was asked for, unless it is ended before", async () => {
    const sleep = new Sleep();
    const beganAt = performance.now();
    await sleep.for(20);
    expect(performance.now() - beganAt).to.be.at.least(19);
    const long = sleep.for(LONG_MS);
    sleep.wake();
    await long;
    // Nobody sleeps.
    sleep.wake();
    let over = 0;
    sleep.begin(LONG_MS, () => {
      over += 1;
    });
    sleep.wake();
    sleep.wake();
    expect(over).to.equal(1);
  });

  it("ends when its signal fires, and leaves no listener behind", async () => {
    const gone = new AbortController();
    const { signal } = gone;
    const listeners = () => getEventListeners(signal, "abort").length;
    const sleep = new Sleep();
    const woken = sleep.for(LONG_MS, signal);
    expect(listeners()).to.equal(1);
    sleep.wake();
    await woken;
    expect(listeners()).to.equal(0);
    const aborted = sleep.for(LONG_MS, signal);
    gone.abort();
    await aborted;
    expect(listeners()).to.equal(0);
    await sleep.for(LONG_MS, signal);
  });

  it("does not begin if no time is left", async () => {
    const sleep = new Sleep();
    await Promise.all([sleep.for(0), sleep.for(-5)]);
  });
});
