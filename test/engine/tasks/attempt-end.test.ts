import { expect } from "chai";
import { readConfig } from "../../../src/config/config.ts";
import { settingsOf } from "../../../src/engine/settings.ts";
import { type AbortCause, attemptEnd, type HandlerEnd } from "../../../src/engine/tasks/attempt-end.ts";
import { answerOf } from "../../../src/engine/tasks/result.ts";
import { defineHandler } from "../../../src/handler/define.ts";

const backoff = { base: "2s", max: "1m" };
const handler = defineHandler({ queue: "jobs", attempts: 3, timeout: "5s", backoff, run: () => undefined });
const settings = settingsOf(handler, readConfig({}));
const result = { status: 200, contentType: "text/plain", headers: {}, body: "made" };
const error = { type: "Error", message: "secret", stack: "secret at …" };

const end = (of: HandlerEnd, aborted?: AbortCause, attempts = 3) =>
  attemptEnd(of, { settings: { ...settings, attempts }, attempt: 2, aborted }, 0.5);

const failure = (of: HandlerEnd, aborted?: AbortCause, attempts = 3) => {
  const ended = end(of, aborted, attempts);
  if (typeof ended === "string" || !("failure" in ended)) throw new Error(`no failure but ${JSON.stringify(ended)}`);
  return { ...ended.failure, result: JSON.parse(String(ended.failure.result.body)) as unknown };
};

describe("the end of an attempt", () => {
  it("is the result, even of a handler that was asked to stop", () => {
    for (const aborted of [undefined, "canceled", "shutdown"] as const) {
      expect(end({ kind: "result", result }, aborted)).to.deep.equal({ kind: "result", result });
    }
  });

  it("is dropped once the lease is lost", () => {
    expect(end({ kind: "result", result }, "lease-lost")).to.equal("nothing");
    expect(end({ kind: "lost", how: "killed" }, "lease-lost")).to.equal("nothing");
  });

  it("counts as a loss if its process dies, but not if the worker stops it", () => {
    expect(end({ kind: "lost", how: "killed" })).to.equal("lose");
    expect(end({ kind: "lost", how: "killed" }, "shutdown")).to.equal("release");
    expect(end({ kind: "error", error }, "shutdown")).to.equal("release");
    expect(end({ kind: "overdue" }, "shutdown")).to.equal("release");
  });

  it("is a failure after the timeout, whatever the handler returns", () => {
    for (const of of [{ kind: "result", result }, { kind: "overdue" }] as const) {
      const told = failure(of, "timeout");
      expect(told).to.include({
        kind: "retry",
        delayMs: 3000,
        code: "task-timeout",
        error: "took longer than 5000 ms",
      });
      expect(told.result).to.include({
        type: "/problems/task-timeout",
        detail: "The handler took longer than 5000 ms.",
      });
    }
  });

  it("keeps the error for the operator and tells the caller the number of attempts", () => {
    const told = failure({ kind: "error", error });
    expect(told).to.include({ kind: "retry", delayMs: 3000, code: "task-failed", error: "secret" });
    expect(told.result).to.deep.equal({
      type: "/problems/task-failed",
      title: "The task failed",
      status: 500,
      detail: "The handler failed in each of 3 attempts.",
    });
    expect(failure({ kind: "error", error }, undefined, 1).result).to.not.have.property("detail");
    expect(failure({ kind: "overdue" }, "canceled")).to.include({
      kind: "retry",
      error: "did not stop when it was asked to",
    });
  });

  it("schedules the retry that the handler asks for, and counts no attempt that was not its fault", () => {
    expect(failure({ kind: "error", error, afterMs: 10 })).to.include({ kind: "retry", delayMs: 10 });
    const later = { kind: "later", afterMs: 70 } as const;
    expect(failure(later)).to.include({ kind: "later", delayMs: 70, error: "asked for another try in 70 ms" });
    expect(failure({ ...later, message: "busy" })).to.include({ kind: "later", error: "busy" });
  });

  it("is final if the handler gives up, or if a retry cannot succeed", () => {
    const told = failure({ kind: "give-up", problem: { status: 422, title: "Not an image", hint: 7 }, message: "no" });
    expect(told).to.include({ kind: "give-up", code: "task-failed", error: "no" });
    expect(told.result).to.deep.equal({ type: "/problems/task-failed", title: "Not an image", status: 422, hint: 7 });
    const permanent = failure({ kind: "permanent", message: "too large" });
    expect(permanent).to.include({ kind: "give-up", error: "too large" });
    expect(permanent.result).to.include({ title: "The task failed", detail: "too large" });
  });
});

describe("the result of a handler's return value", () => {
  it("is JSON, bytes or nothing, or what a worker over HTTP chose", () => {
    expect(answerOf({ a: 1 })).to.include({ status: 200, contentType: "application/json", body: '{"a":1}' });
    expect(answerOf(null)).to.include({ status: 200, body: "null" });
    expect(answerOf(undefined)).to.include({ status: 204, contentType: null, body: "" });
    const bytes = Uint8Array.of(0, 255);
    expect(answerOf(bytes)).to.include({ status: 200, contentType: "application/octet-stream", body: bytes });
    const given = { status: 201, contentType: "image/x-test" };
    expect(answerOf(bytes, given)).to.include(given);
    expect(answerOf(1, given)).to.include(given);
    expect(answerOf(undefined, given)).to.include({ status: 201, contentType: null });
  });
});
