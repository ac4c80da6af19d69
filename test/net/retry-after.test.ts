import { expect } from "chai";
import { retryAfterMs } from "../../src/net/retry-after.ts";

describe("the Retry-After of a response (RFC 9110 §10.2.3)", () => {
  const nowMs = Date.UTC(1994, 10, 6, 8, 49, 0);
  const maxMs = 3_600_000;
  const read = (header: string | undefined) => retryAfterMs(header, { nowMs, maxMs });

  it("is read as seconds", () => {
    expect(read("120")).to.equal(120_000);
    expect(read(" 0 ")).to.equal(0);
  });

  it("is read as a date in each HTTP format, always as UTC", () => {
    expect(read("Sun, 06 Nov 1994 08:49:37 GMT")).to.equal(37_000);
    expect(read("Sunday, 06-Nov-94 08:49:37 GMT")).to.equal(37_000);
    expect(read("Sun Nov  6 08:49:37 1994")).to.equal(37_000);
  });

  it("reads a year of two digits as the one within 50 years", () => {
    const in2026 = { nowMs: Date.UTC(2026, 0, 1), maxMs: Number.POSITIVE_INFINITY };
    expect(retryAfterMs("Friday, 01-Jan-27 00:00:00 GMT", in2026)).to.equal(365 * 86_400_000);
    expect(retryAfterMs("Sunday, 06-Nov-94 08:49:37 GMT", in2026)).to.equal(0);
    const in50Years = Date.UTC(2076, 0, 1) - in2026.nowMs;
    expect(retryAfterMs("Wednesday, 01-Jan-76 00:00:00 GMT", in2026)).to.equal(in50Years);
    expect(retryAfterMs("Friday, 01-Jan-77 00:00:00 GMT", in2026)).to.equal(0);
  });

  it("is 0 for a past date", () => {
    expect(read("Sun, 06 Nov 1994 08:48:00 GMT")).to.equal(0);
  });

  it("is bounded", () => {
    expect(read("9".repeat(400))).to.equal(maxMs);
    expect(read("Fri, 31 Dec 9999 23:59:59 GMT")).to.equal(maxMs);
  });

  it("is undefined if invalid, even if Date.parse would accept it", () => {
    const none = [undefined, "", "-1", "1.5", "soon", "2030-01-01", "Sun, 99 Foo 1994", "1 2", "tomorrow 7"];
    const almost = [
      "Sun, 06 Nov 1994 08:49:37",
      "Sun, 06 Nov 1994 08:49:37 +0100",
      "Sun, 6 Nov 1994 08:49:37 GMT",
      "Sun, 06 Foo 1994 08:49:37 GMT",
      "Sun, 06 Nov 1994 25:49:37 GMT",
      "06 Nov 1994 08:49:37 GMT",
    ];
    for (const header of [...none, ...almost]) expect(read(header), String(header)).to.equal(undefined);
  });
});
