import { expect } from "chai";
import { restMs } from "../../../src/engine/estimates/estimate.ts";
import { ProblemError } from "../../../src/errors.ts";
import { fullRetryAfterS, pendingRetryAfterS, retryAfterOf } from "../../../src/http/headers/retry-after.ts";
import type { QueueSnapshot } from "../../../src/store/line/snapshot.ts";
import { NO_TIMES, serviceTimes } from "../../shared/service-times.ts";

const snapshot = (meanMs: number | null, slots = 1, over: Partial<QueueSnapshot> = {}) =>
  ({ ...(meanMs === null ? NO_TIMES : serviceTimes(meanMs)), slots, ...over }) as QueueSnapshot;
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
      expect(pendingRetryAfterS(eta(seconds), null, 0)).to.equal(expected);
    }
  });

  it("is jittered by up to a tenth if it is long", () => {
    expect(pendingRetryAfterS(eta(100), null, 1)).to.equal(110);
    expect(pendingRetryAfterS(eta(5), null, 1)).to.equal(5);
  });

  it("is the estimated end of a running task, or 2 s without an estimate", () => {
    const rest = (meanMs: number | null, ms: number, pace: Parameters<typeof restMs>[1] = null) =>
      restMs(snapshot(meanMs), pace, ms);
    expect(pendingRetryAfterS(null, rest(8000, 3000), 0)).to.equal(5);
    expect(pendingRetryAfterS(null, rest(8000, 9000), 0)).to.equal(1);
    expect(pendingRetryAfterS(null, rest(8000, 3000, { percent: 20, totalMs: 15_000 }), 0)).to.equal(12);
    expect(pendingRetryAfterS(null, rest(null, 3000, { percent: 20, totalMs: 15_000 }), 0)).to.equal(12);
    expect(pendingRetryAfterS(null, rest(null, 3000), 0)).to.equal(2);
    expect(pendingRetryAfterS(eta(0, "running"), null, 0)).to.equal(2);
  });

  it("is the estimated time until a full queue has room, or 5 s without an estimate", () => {
    expect(fullRetryAfterS(snapshot(9000, 2))).to.equal(5);
    expect(fullRetryAfterS(snapshot(10, 8))).to.equal(1);
    expect(fullRetryAfterS(snapshot(3_600_000))).to.equal(300);
    expect(fullRetryAfterS(snapshot(null))).to.equal(5);
    expect(fullRetryAfterS(snapshot(9000, 0))).to.equal(5);
    expect(fullRetryAfterS(snapshot(10, 8, { rate: { max: 5, perMs: 60_000, starts: [] } })), "a rate").to.equal(12);
    expect(fullRetryAfterS(snapshot(60_000, 2, { paused: true }))).to.equal(5);
  });

  it("is on every 503, and on no error that a retry cannot solve", () => {
    expect(retryAfterOf(new ProblemError("store-unavailable"))).to.equal(2);
    expect(retryAfterOf(new ProblemError("rate-limited", undefined, { retryAfterS: 7 }))).to.equal(7);
    expect(retryAfterOf(new ProblemError("unknown"))).to.equal(undefined);
  });
});
