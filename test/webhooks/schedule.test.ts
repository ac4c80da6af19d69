import { expect } from "chai";
import fc from "fast-check";
import { ATTEMPTS, pauseMs, retryAfterMs, SCHEDULE } from "../../src/webhooks/schedule.ts";

const HOUR_MS = 3_600_000;
/** Of all pauses, when chance makes each as short, or as long, as it can be. */
const totalMs = (chance: number) =>
  Array.from({ length: ATTEMPTS - 1 }, (_, i) => pauseMs(i + 1, chance)).reduce((sum, ms) => sum + ms, 0);

describe("the schedule of webhook deliveries", () => {
  it("tries again within 5 seconds at first", () => {
    expect(pauseMs(1, 0)).to.be.within(1000, 5000);
    expect(pauseMs(1, 0.999_999)).to.be.within(1000, 5000);
  });

  it("doubles the pause from one attempt to the next, up to the longest", () => {
    for (let attempt = 1; attempt < ATTEMPTS; attempt += 1) {
      const next = Math.min(SCHEDULE.longestMs, 2 * pauseMs(attempt, 0.5));
      expect(pauseMs(attempt + 1, 0.5), `after attempt ${attempt + 1}`).to.equal(next);
    }
    expect(pauseMs(ATTEMPTS - 1, 0.5)).to.equal(SCHEDULE.longestMs);
  });

  it("draws each pause from a fifth around it, whatever the attempt", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 1e6 }),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (n, chance) => {
          const middle = pauseMs(n, 0.5);
          expect(pauseMs(n, chance)).to.be.within(Math.floor(middle * 0.8), Math.ceil(middle * 1.2));
        },
      ),
    );
    expect(pauseMs(9, 0)).to.be.below(pauseMs(9, 0.9));
  });

  it("goes on for a day at least, and not for two", () => {
    expect(totalMs(0)).to.be.at.least(24 * HOUR_MS);
    expect(totalMs(1)).to.be.below(48 * HOUR_MS);
  });

  it("has no attempt more than that takes", () => {
    expect(totalMs(0) - pauseMs(ATTEMPTS - 1, 0)).to.be.below(24 * HOUR_MS);
  });
});

describe("Retry-After of a receiver (RFC 9110 §10.2.3)", () => {
  const now = Date.UTC(1994, 10, 6, 8, 49, 0);

  it("is read as seconds", () => {
    expect(retryAfterMs("120", now)).to.equal(120_000);
    expect(retryAfterMs(" 0 ", now)).to.equal(0);
  });

  it("is read as a date in each of the forms of HTTP", () => {
    expect(retryAfterMs("Sun, 06 Nov 1994 08:49:37 GMT", now)).to.equal(37_000);
    expect(retryAfterMs("Sunday, 06-Nov-94 08:49:37 GMT", now)).to.equal(37_000);
    expect(retryAfterMs("Sun Nov  6 08:49:37 1994", now)).to.equal(37_000);
  });

  it("is 0 for a date that is over", () => {
    expect(retryAfterMs("Sun, 06 Nov 1994 08:48:00 GMT", now)).to.equal(0);
  });

  it("is bounded", () => {
    expect(retryAfterMs("9".repeat(400), now)).to.equal(SCHEDULE.longestRetryAfterMs);
    expect(retryAfterMs("Fri, 31 Dec 9999 23:59:59 GMT", now)).to.equal(SCHEDULE.longestRetryAfterMs);
  });

  it("is nothing where it cannot be read", () => {
    for (const header of [undefined, "", "-1", "1.5", "soon", "2030-01-01", "Sun, 99 Foo 1994", "1 2"]) {
      expect(retryAfterMs(header, now), String(header)).to.equal(undefined);
    }
  });
});
