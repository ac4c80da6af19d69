import { getEventListeners } from "node:events";
import { expect } from "chai";
import { Deadline, withDeadline } from "../../src/net/deadline.ts";
import { type FakeTime, fakeTime } from "../helpers/fake-time.ts";

/** Work that continues until its signal fires, and then fails with its own error. */
const untilStopped = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => signal.addEventListener("abort", () => reject(new Error("broken off"))));

describe("work with a deadline", () => {
  const late = () => new Error("too late");
  let caller: AbortController;
  beforeEach(() => {
    caller = new AbortController();
  });
  const run = <T>(work: (signal: AbortSignal) => Promise<T>, ms = 600_000) =>
    withDeadline({ signal: caller.signal, ms, late }, work).catch((error: Error) => error.message);

  it("returns the result of the work, or throws its error", async () => {
    expect(await run(async () => 7)).to.equal(7);
    expect(await run(() => Promise.reject(new Error("no")))).to.equal("no");
  });

  it("throws the reason for stopping, not the error that this causes", async () => {
    expect(await run(untilStopped, 5)).to.equal("too late");
    const stopped = run(untilStopped);
    caller.abort(new Error("canceled"));
    expect(await stopped).to.equal("canceled");
  });

  it("does not start if the signal has fired", async () => {
    caller.abort(new Error("canceled"));
    let begun = false;
    const work = async () => {
      begun = true;
    };
    expect([await run(work), begun]).to.deep.equal(["canceled", false]);
  });

  it("leaves no listener on the signal", async () => {
    await run(async () => undefined);
    expect(getEventListeners(caller.signal, "abort")).to.deep.equal([]);
  });
});

describe("a deadline", () => {
  const late = () => "too late";
  const reasonOf = (deadline: Deadline) => [deadline.signal.aborted, deadline.signal.reason, deadline.passed];
  let time: FakeTime;
  let caller: AbortController;
  beforeEach(() => {
    time = fakeTime();
    caller = new AbortController();
  });
  afterEach(() => time.end());

  it("has passed when its time is up, unless it is cleared before", async () => {
    const [kept, cleared] = [new Deadline(caller.signal, 100, late), new Deadline(caller.signal, 100, late)];
    await time.pass(75);
    expect(reasonOf(kept)).to.deep.equal([false, undefined, false]);
    cleared.clear();
    await time.pass(50);
    expect(reasonOf(kept)).to.deep.equal([true, "too late", true]);
    expect(reasonOf(cleared)).to.deep.equal([false, undefined, false]);
  });

  it("ends with the other signal, and then has not passed", () => {
    const running = new Deadline(caller.signal, 100, late);
    caller.abort("canceled");
    const begun = new Deadline(caller.signal, 100, late);
    for (const deadline of [running, begun]) {
      expect(reasonOf(deadline)).to.deep.equal([true, "canceled", false]);
      deadline.clear();
    }
  });
});
