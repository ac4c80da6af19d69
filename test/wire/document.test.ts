import { expect } from "chai";
import { timestamp } from "../../src/wire/document.ts";

describe("timestamp", () => {
  it("shows times as RFC 3339 in UTC, always with milliseconds", () => {
    expect(timestamp(0)).to.equal("1970-01-01T00:00:00.000Z");
    expect(timestamp(1_760_000_000_120)).to.equal("2025-10-09T08:53:20.120Z");
  });

  it("shows what is no time as 1970, rather than nothing of all that stands beside it", () => {
    for (const ms of [Number.NaN, 1e300, Number.NEGATIVE_INFINITY]) {
      expect(timestamp(ms)).to.equal("1970-01-01T00:00:00.000Z");
    }
  });

  it("leaves a time that has not come as null", () => {
    expect(timestamp(null)).to.equal(null);
  });
});
