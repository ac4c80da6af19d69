import { expect } from "chai";
import fc from "fast-check";
import { ATTEMPTS, pauseMs, RETRIES } from "../../../src/extras/webhooks/delivery.ts";

const HOUR_MS = 3_600_000;
/** Of all pauses, when chance makes each as short, or as long, as it can be. */
const totalMs = (chance: number) =>
  Array.from({ length: ATTEMPTS - 1 }, (_, i) => pauseMs(i + 1, chance)).reduce((sum, ms) => sum + ms, 0);

describe("the retries of webhook deliveries", () => {
  it("tries again within 5 seconds at first", () => {
    expect(pauseMs(1, 0)).to.be.within(1000, 5000);
    expect(pauseMs(1, 0.999_999)).to.be.within(1000, 5000);
  });

  it("doubles the pause from one attempt to the next, up to the longest", () => {
    for (let attempt = 1; attempt < ATTEMPTS; attempt += 1) {
      const next = Math.min(RETRIES.maxMs, 2 * pauseMs(attempt, 0.5));
      expect(pauseMs(attempt + 1, 0.5), `after attempt ${attempt + 1}`).to.equal(next);
    }
    expect(pauseMs(ATTEMPTS - 1, 0.5)).to.equal(RETRIES.maxMs);
  });

  it("varies each pause at random by up to a fifth, whatever the attempt", () => {
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

  it("continues for at least one day and less than two", () => {
    expect(totalMs(0)).to.be.at.least(24 * HOUR_MS);
    expect(totalMs(1)).to.be.below(48 * HOUR_MS);
  });

  it("has no more attempts than that needs", () => {
    expect(totalMs(0) - pauseMs(ATTEMPTS - 1, 0)).to.be.below(24 * HOUR_MS);
  });
});
