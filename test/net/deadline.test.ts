import { getEventListeners, once } from "node:events";
import { setImmediate as nextImmediate } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { expect } from "chai";
import { Deadline, withDeadline, withTimeout } from "../../src/net/deadline.ts";
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

/** Answers once it may, and then says that its answer is on its way. */
const ANSWERER = `
  const { parentPort, workerData } = require("node:worker_threads");
  const state = new Int32Array(workerData);
  Atomics.wait(state, 0, 0);
  parentPort.postMessage("the answer");
  Atomics.store(state, 0, 2);
  Atomics.notify(state, 0);
`;

describe("work with a timeout", () => {
  const late = () => new Error("too late");
  const outcome = (work: Promise<unknown>, ms: number) =>
    withTimeout(ms, work, late).catch((error: Error) => error.message);

  it("returns the result of the work, or throws its error", async () => {
    expect(await outcome(Promise.resolve(7), 600_000)).to.equal(7);
    expect(await outcome(Promise.reject(new Error("no")), 600_000)).to.equal("no");
  });

  it("throws the error for the timeout if the work takes longer", async () => {
    expect(await outcome(new Promise(() => undefined), 5)).to.equal("too late");
  });

  it("does not keep the process alive, and makes no error once the work has ended", async () => {
    const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length;
    const before = timers();
    // This process may live longer than that.
    withTimeout(600_000, new Promise(() => undefined), late).catch(() => undefined);
    expect(timers()).to.equal(before);
    let errors = 0;
    const counted = () => {
      errors += 1;
      return late();
    };
    await withTimeout(1, Promise.resolve(), counted);
    await outcome(new Promise(() => undefined), 20);
    expect(errors).to.equal(0);
  });

  it("accepts an answer that arrived while the process was too busy to read it", async () => {
    const state = new Int32Array(new SharedArrayBuffer(4));
    const worker = new Worker(ANSWERER, { eval: true, workerData: state.buffer });
    await once(worker, "online");
    // From here, timers come before messages.
    await nextImmediate();
    const answer = outcome(
      once(worker, "message").then(([message]) => message),
      1,
    );
    Atomics.store(state, 0, 1);
    Atomics.notify(state, 0);
    Atomics.wait(state, 0, 1);
    for (const begin = performance.now(); performance.now() - begin < 20; );
    expect(await answer).to.equal("the answer");
  });
});
