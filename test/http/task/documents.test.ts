import { expect } from "chai";
import { problemResult } from "../../../src/engine/tasks/result.ts";
import type { Inspection } from "../../../src/engine/watch/inspect.ts";
import { errorEntry } from "../../../src/errors.ts";
import { INTERNAL_QUEUES } from "../../../src/handler/internal-queues.ts";
import { doneDocument } from "../../../src/http/live/task-events.ts";
import { pendingTask } from "../../../src/http/task/reply.ts";
import { monitorDocument } from "../../../src/http/task/task-document.ts";
import type { Result } from "../../../src/task.ts";
import { NO_TIMES, serviceTimes } from "../../shared/service-times.ts";

const ENDED_MS = Date.UTC(2030, 0, 31, 12);

/** A task that has succeeded without a result that was read, but for what is given. */
const taskOf = (given: Partial<Inspection> = {}): Inspection =>
  ({
    ...{ id: "a", queue: "jobs", state: "succeeded", nowMs: ENDED_MS + 1000, attempts: 1, result: null },
    ...{ startedMs: ENDED_MS - 1000, finishedMs: ENDED_MS, expiresMs: ENDED_MS + 60_000, expired: false },
    ...{ deleted: false, canceledBy: null, errorCode: null, progress: null, longestMs: null, errors: [] },
    snapshot: { queue: "jobs", running: 0, waiting: 0, ...NO_TIMES },
    ...given,
  }) as unknown as Inspection;

const resultOf = (text: string, contentType = "application/json"): Result => ({
  ...{ status: 200, contentType, headers: {} },
  body: Buffer.from(text),
});
const problemOf = (members: object): Result => ({
  ...problemResult({ status: 422, ...members }),
  body: Buffer.from(JSON.stringify({ status: 422, ...members })),
});

describe("the document of the event done", () => {
  const doneOf = (seen: Inspection) => JSON.parse(doneDocument({ state: {} }, seen, '{"id":"a"}'));

  it("has a short JSON result, in one line", () => {
    const text = doneDocument({ state: {} }, taskOf({ result: resultOf('{\r\n"a":\n 1}') }), '{"id":"a"}');
    expect(text).not.to.match(/[\r\n]/);
    expect(JSON.parse(text)).to.deep.equal({ id: "a", result: { a: 1 } });
  });

  it("has no result that is long, or not JSON: it is collected", () => {
    expect(doneOf(taskOf())).to.deep.equal({ id: "a" });
    expect(doneOf(taskOf({ result: resultOf("a,b", "text/csv") }))).to.deep.equal({ id: "a" });
  });
});

describe("the error in a task's document", () => {
  const errorOf = (given: Partial<Inspection>) => monitorDocument(taskOf(given), 1).error;

  it("has the detail of the problem, else its title, else that of the code", () => {
    const message = (members: object) => errorOf({ state: "failed", result: problemOf(members) })?.message;
    expect(message({ title: "No", detail: "no car" })).to.equal("no car");
    expect(message({ title: "No", detail: "" })).to.equal("No");
    expect(errorOf({ state: "failed" })?.code).to.equal("task-failed");
    expect(message({ title: 1, detail: ["x"] }))
      .to.be.a("string")
      .and.not.equal("");
    const late = errorOf({ state: "failed", errorCode: "task-timeout" });
    expect(late?.code).to.equal("task-timeout");
    expect(late?.message).to.equal(errorEntry("task-timeout").title);
    expect(errorOf({ state: "failed", errorCode: "code-of-later" })?.message)
      .to.be.a("string")
      .and.not.equal("");
  });

  it("names the steps that were not undone, but takes no steps from a handler's problem", () => {
    const result = problemOf({ title: "No", steps: ["pay", 7] });
    expect(errorOf({ state: "failed", queue: INTERNAL_QUEUES.undo, result })?.steps).to.deep.equal(["pay", "7"]);
    expect(errorOf({ state: "failed", result })).not.to.have.property("steps");
    const other = problemOf({ title: "No", steps: "pay" });
    expect(errorOf({ state: "failed", queue: INTERNAL_QUEUES.undo, result: other })).not.to.have.property("steps");
  });
});

describe("the document of a task", () => {
  it("has progress while it runs, if it is reported or can be estimated", () => {
    const progressOf = (given: Partial<Inspection>) => monitorDocument(taskOf(given), 1).progress;
    const snapshot = { ...taskOf().snapshot, ...serviceTimes(4000) };
    expect(progressOf({})).to.deep.equal({ percent: 100, message: null, estimated: false });
    const progress = { percent: 40, message: "almost" };
    const reported = { ...progress, totalMs: 9000 };
    expect(progressOf({ state: "running", progress: reported, snapshot })).to.deep.equal({
      ...progress,
      estimated: false,
    });
    const nowMs = ENDED_MS;
    expect(progressOf({ state: "running", snapshot, nowMs })).to.deep.equal({
      percent: 25,
      message: null,
      estimated: true,
    });
    expect(progressOf({ state: "running" })).to.equal(null);
    expect(progressOf({ state: "running", startedMs: null, snapshot })).to.equal(null);
    for (const state of ["waiting", "retrying", "failed"] as const)
      expect(progressOf({ state, progress: reported })).to.equal(null);
  });
});

describe("the Retry-After of a pending task", () => {
  const snapshot = { ...taskOf().snapshot, ...serviceTimes(4000) };
  const retryAfter = (given: Partial<Inspection>) =>
    pendingTask(taskOf({ presenceMs: null, eta: null, index: 0, nowMs: ENDED_MS, snapshot, ...given })).retryAfterS;

  it("does not count the time since the last attempt of a task that waits", () => {
    const eta = { seconds: 5, low: 5, high: 5, basis: "history", samples: 9 } as const;
    expect(retryAfter({ state: "waiting", eta })).to.equal(5);
  });

  it("is short enough for whoever must look to keep the task", () => {
    const eta = { seconds: 200, low: 200, high: 200, basis: "history", samples: 9 } as const;
    expect(retryAfter({ state: "waiting", eta, presenceMs: 10_000 })).to.be.within(1, 9);
  });
});
