import { expect } from "chai";
import { ProblemError } from "../../../src/errors.ts";
import { fullRetryAfterS, pendingRetryAfterS, retryAfterOf } from "../../../src/http/headers/retry-after.ts";
import type { QueueSnapshot } from "../../../src/store/verbs/scripts.ts";

const snapshot = (meanMs: number | null, slots = 1) => ({ meanMs, slots }) as QueueSnapshot;
const eta = (seconds: number, basis = "queue") =>
  ({ seconds, basis }) as unknown as Parameters<typeof pendingRetryAfterS>[0];

describe("Retry-After", () => {
  it("is the estimated start of a waiting task, from 1 to 300 s", () => {
    for (const [seconds, expected] of [
      [0, 1],
      [3.4, 3],
      [100, 100],
      [9999, 300],
    ] as const) {
      expect(pendingRetryAfterS(eta(seconds), snapshot(null), null, 0)).to.equal(expected);
    }
  });

  it("is jittered by up to a tenth if it is long", () => {
    expect(pendingRetryAfterS(eta(100), snapshot(null), null, 1)).to.equal(110);
    expect(pendingRetryAfterS(eta(5), snapshot(null), null, 1)).to.equal(5);
  });

  it("is the estimated end of a running task, or 2 s without an estimate", () => {
    expect(pendingRetryAfterS(null, snapshot(8000), 3000, 0)).to.equal(5);
    expect(pendingRetryAfterS(null, snapshot(8000), 9000, 0)).to.equal(1);
    expect(pendingRetryAfterS(null, snapshot(null), 3000, 0)).to.equal(2);
    expect(pendingRetryAfterS(null, snapshot(8000), null, 0)).to.equal(2);
    expect(pendingRetryAfterS(eta(0, "running"), snapshot(null), 3000, 0)).to.equal(2);
  });

  it("is the estimated time until a full queue has room, or 5 s without an estimate", () => {
    expect(fullRetryAfterS(snapshot(9000, 2))).to.equal(5);
    expect(fullRetryAfterS(snapshot(10, 8))).to.equal(1);
    expect(fullRetryAfterS(snapshot(3_600_000))).to.equal(300);
    expect(fullRetryAfterS(snapshot(null))).to.equal(5);
    expect(fullRetryAfterS(snapshot(9000, 0))).to.equal(5);
  });

  it("is on every 503, and on no error that a retry cannot solve", () => {
    expect(retryAfterOf(new ProblemError("store-unavailable"))).to.equal(2);
    expect(retryAfterOf(new ProblemError("rate-limited", undefined, { retryAfterS: 7 }))).to.equal(7);
    expect(retryAfterOf(new ProblemError("unknown"))).to.equal(undefined);
  });
});
