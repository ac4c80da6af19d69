import { getEventListeners } from "node:events";
import { expect } from "chai";
import { withDeadline } from "../../src/net/deadline.ts";

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
    expect(await run(() => expect.fail("begun"))).to.equal("canceled");
  });

  it("leaves no listener on the signal", async () => {
    await run(async () => undefined);
    expect(getEventListeners(caller.signal, "abort")).to.deep.equal([]);
  });
});
