import { once } from "node:events";
import { setImmediate as nextImmediate } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { expect } from "chai";
import { withTimeout } from "../../src/net/with-timeout.ts";

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
