import { expect } from "chai";
import fc from "fast-check";
import { parseDuration } from "../../src/config/duration.ts";

describe("a duration", () => {
  it("is read in every unit", () => {
    const units = {
      "500ms": 500,
      "30s": 30_000,
      "5m": 300_000,
      "1h": 3_600_000,
      "7d": 604_800_000,
      "250": 250,
      "0": 0,
    };
    for (const [text, ms] of Object.entries(units)) expect(parseDuration(text), text).to.equal(ms);
  });

  it("may have a fraction, and space around and before its unit", () => {
    expect(parseDuration("1.5s")).to.equal(1500);
    expect(parseDuration(" 2 m ")).to.equal(120_000);
    expect(parseDuration("0.4")).to.equal(0);
  });

  it("may take digits without a unit for seconds", () => {
    expect(parseDuration("1.5", "s")).to.equal(1500);
    expect(parseDuration("2m", "s")).to.equal(120_000);
  });

  it("is milliseconds, rounded, if it is a number", () => {
    expect(parseDuration(1500)).to.equal(1500);
    expect(parseDuration(0.6)).to.equal(1);
    expect(parseDuration(0)).to.equal(0);
  });

  it("is refused in any other form", () => {
    const none = ["", " ", "s", "-1s", "+1s", "1e3", "1,5s", ".5s", "1.s", "1 2s", "1S", "1w", "1s 1m", "0x10", "∞"];
    for (const text of none) expect(parseDuration(text), text).to.equal(undefined);
    for (const number of [-1, Number.NaN, Number.POSITIVE_INFINITY, 1e300]) {
      expect(parseDuration(number), String(number)).to.equal(undefined);
    }
    expect(parseDuration("999999999999999999d")).to.equal(undefined);
  });

  it("is a safe whole number ≥ 0 or undefined for any input", () => {
    const anything = fc.oneof(fc.string(), fc.double(), fc.stringMatching(/^\d{1,20}(\.\d{1,9})? ?(ms|s|m|h|d)?$/));
    fc.assert(
      fc.property(anything, (value) => {
        const ms = parseDuration(value);
        return ms === undefined || (Number.isSafeInteger(ms) && ms >= 0);
      }),
    );
  });

  it("means the same as a number and as digits", () => {
    fc.assert(fc.property(fc.maxSafeNat(), (ms) => parseDuration(ms) === ms && parseDuration(String(ms)) === ms));
  });
});
