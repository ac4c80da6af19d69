import { expect } from "chai";
import { SHARED } from "../../../src/store/constants.ts";
import { runOf, workerEnd } from "../../../src/store/task/run.ts";

describe("the record of the last run of a task", () => {
  /** A fence that was given then, after another one in the same millisecond. */
  const fenceAt = (ms: number) => (ms - SHARED.epochMs) * 10 ** SHARED.fenceDigits + 1;
  const MS = SHARED.epochMs + 5_000_000;

  it("has when it began, which may be later than its fence, its attempts and its worker", () => {
    expect(runOf(`${fenceAt(MS)} 0 2 7 host:1`)).to.deep.equal({ attempts: 2, startedMs: MS, worker: "host:1" });
    expect(runOf(`${fenceAt(MS)} 250 1 7 w`).startedMs).to.equal(MS + 250);
  });

  it("has no beginning if the task was never reserved, or was handed back", () => {
    expect(runOf("")).to.deep.equal({ attempts: 0, startedMs: null, worker: "" });
    expect(runOf(`${fenceAt(MS)} - 1 7`)).to.deep.equal({ attempts: 1, startedMs: null, worker: "" });
  });

  it("has the end of a long name of a worker, which tells it from others of its host", () => {
    expect(workerEnd("w1")).to.equal("w1");
    const name = `${"h".repeat(100)}:1:end`;
    expect(workerEnd(name)).to.equal(name.slice(-SHARED.workerBytes));
  });
});
