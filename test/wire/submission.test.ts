import { expect } from "chai";
import { ProblemError } from "../../src/errors.ts";
import { urgencyOf } from "../../src/wire/request.ts";
import { readSubmitOptions, type SubmitOptions } from "../../src/wire/submission.ts";

const NOON = Date.parse("2030-01-01T12:00:00Z");
const read = (query: string, priority?: string): SubmitOptions =>
  readSubmitOptions(query, priority === undefined ? {} : { priority });

/** The parameter that a refused query is said to have wrong. */
function refused(query: string): unknown {
  try {
    read(query);
  } catch (error) {
    if (!(error instanceof ProblemError) || error.code !== "invalid-parameter") throw error;
    expect(error.message.startsWith(`${error.extensions.parameter}: `), error.message).to.equal(true);
    return error.extensions.parameter;
  }
  throw new Error(`${query} was accepted`);
}

describe("the options of a submission", () => {
  it("have defaults", () => {
    expect(read("")).to.deep.include({
      priority: 3,
      delayMs: 0,
      deadlineMs: null,
      presenceMs: null,
      maxIndex: null,
      dryRun: false,
      webhook: null,
      query: {},
    });
  });

  it("accept a delay in seconds, including fractions", () => {
    expect(read("delay=0").delayMs).to.equal(0);
    expect(read("delay=90").delayMs).to.equal(90_000);
    expect(read("delay=0.25").delayMs).to.equal(250);
    for (const value of ["", "-1", "1e3", "soon", "1s", "Infinity", "NaN", "99999999999", "0x10", " 1"]) {
      expect(refused(`delay=${value}`)).to.equal("delay");
    }
  });

  it("accept an RFC 3339 time to start at", () => {
    expect(read("notBefore=2030-01-01T12:00:00Z").notBeforeMs).to.equal(NOON);
    expect(read("notBefore=2030-01-01t12:00:00.5z").notBeforeMs).to.equal(NOON + 500);
    expect(read("notBefore=2030-01-01T14:00:00%2B02:00").notBeforeMs).to.equal(NOON);
    expect(read("notBefore=2030-01-01T14:00:00+02:00").notBeforeMs, "an unescaped plus").to.equal(NOON);
    expect(read("notBefore=2030-01-01T07:00:00-05:00").notBeforeMs).to.equal(NOON);
    expect(read("notBefore=2030-02-28T12:00:00Z").notBeforeMs).to.equal(NOON + 58 * 86_400_000);
    expect(read("notBefore=1969-01-01T00:00:00Z").notBeforeMs, "long past").to.equal(0);
  });

  it("refuse an invalid time, naming the parameter", () => {
    const wrong = [
      ...["", "tomorrow", "2030-01-31", "2030-01-31T12:00:00", "2030-01-31 12:00:00Z", "1893456000"],
      ...["2030-13-01T00:00:00Z", "2030-02-30T00:00:00Z", "2030-02-29T00:00:00Z", "2030-01-00T00:00:00Z"],
      ...["2030-01-01T24:00:00Z", "2030-01-01T00:60:00Z", "2030-01-01T00:00:00%2B24:00"],
    ];
    for (const value of wrong) expect(refused(`notBefore=${value}`), value).to.equal("notBefore");
  });

  it("refuse both together, and repeated options", () => {
    expect(refused("delay=1&notBefore=2030-01-01T00:01:00Z")).to.equal("notBefore");
    expect(refused("delay=1&delay=2")).to.equal("delay");
    expect(refused("maxIndex=1&maxIndex=1")).to.equal("maxIndex");
    expect(refused("dryRun=true&dryRun=true")).to.equal("dryRun");
  });

  it("accept a deadline in seconds or a Cancel-After header; the sooner counts", () => {
    const within = (header: string, query = "") => readSubmitOptions(query, { "cancel-after": header }).deadlineMs;
    expect(read("deadline=1").deadlineMs).to.equal(1000);
    expect(read("deadline=1.5&delay=1").deadlineMs).to.equal(1500);
    expect(read("delay=1").deadlineMs).to.equal(null);
    expect([within("90"), within(" 90s "), within("5m"), within("1h"), within("1.5m")]).to.deep.equal([
      ...[90_000, 90_000, 300_000, 3_600_000, 90_000],
    ]);
    expect([within("90", "deadline=5"), within("5", "deadline=90")]).to.deep.equal([5000, 5000]);
    for (const value of ["", "0", "0.999", "-1", "1s", "1e3", "soon", "99999999999"]) {
      expect(refused(`deadline=${value}`), value).to.equal("deadline");
    }
    for (const header of ["", "0", "900ms", "1d", "-5", "90, 90", "1 h", "1h30m", "99999h"]) {
      expect(() => within(header), header).to.throw(ProblemError, /^Cancel-After: expected 1 to 31622400 seconds/);
    }
    expect(refused("deadline=5&deadline=5")).to.equal("deadline");
  });

  it("accept a presence as a time with a unit, or seconds, in the query or a Presence header; the shorter counts", () => {
    const both = (header: string, query = "") => readSubmitOptions(query, { presence: header }).presenceMs;
    expect(["5", "30s", "1.5m", "1h"].map((value) => read(`presence=${value}`).presenceMs)).to.deep.equal([
      ...[5000, 30_000, 90_000, 3_600_000],
    ]);
    expect([both("30s"), both("30s", "presence=5"), both("5", "presence=30s")]).to.deep.equal([30_000, 5000, 5000]);
    for (const value of ["", "0", "-1", "4.999", "3601", "2h", "30ms", "1d", "1e1", "٣٠", "30 s"]) {
      expect(refused(`presence=${encodeURIComponent(value)}`), value).to.equal("presence");
      expect(() => both(value), value).to.throw(ProblemError, /^Presence: expected 5 to 3600 seconds/);
    }
  });

  it("accept only exact whole numbers and booleans", () => {
    expect(read("maxIndex=0").maxIndex).to.equal(0);
    expect(read("maxIndex=12").maxIndex).to.equal(12);
    expect(read("dryRun=true").dryRun).to.equal(true);
    expect(read("dryRun=false").dryRun).to.equal(false);
    for (const value of ["", "-1", "1.5", "ten", "1e3", "9".repeat(16)]) {
      expect(refused(`maxIndex=${value}`)).to.equal("maxIndex");
    }
    for (const value of ["", "1", "yes", "True"]) expect(refused(`dryRun=${value}`)).to.equal("dryRun");
  });

  it("pass all other parameters to the handler, whatever their names", () => {
    const { query } = read("width=10&delay=1&__proto__=x&constructor=y&%C3%BC=%F0%9F%8E%AB&webhook=z&Delay=7");
    expect(Object.entries(query)).to.deep.equal([
      ["width", "10"],
      ["__proto__", "x"],
      ["constructor", "y"],
      ["ü", "🎫"],
      ["Delay", "7"],
    ]);
    expect(({} as Record<string, unknown>).x).to.equal(undefined);
    expect(Object.getPrototypeOf(query)).to.equal(Object.prototype);
  });
});

/** RFC 9218 §4 (a dictionary of RFC 9651 §3.2) and §4.1 (urgency). */
describe("Priority", () => {
  it("is 3 if absent or without an urgency (§4.1)", () => {
    for (const header of ["", "i", "i=?0", "x=1", "i, x;y=2"]) expect(urgencyOf(header), header).to.equal(3);
  });

  it("is the requested urgency, 0–7 (§4.1)", () => {
    for (let u = 0; u <= 7; u += 1) expect(urgencyOf(`u=${u}`)).to.equal(u);
    expect(urgencyOf("i, u=1")).to.equal(1);
    expect(urgencyOf(" u=5 , i ")).to.equal(5);
    expect(urgencyOf("u=2;x=y;z")).to.equal(2);
    expect(urgencyOf('x="a, u=0", u=6')).to.equal(6);
    expect(urgencyOf('x=("a" b;c 1.5);d, u=6')).to.equal(6);
  });

  it("can have leading zeros, like any integer (RFC 9651 §3.3.1)", () => {
    expect(urgencyOf("u=01")).to.equal(1);
    expect(urgencyOf("u=000000000000007")).to.equal(7);
    expect(urgencyOf("u=-0")).to.equal(0);
    for (const header of ["u=08", "u=-01", "u=01.0", "u=0000000000000001"])
      expect(urgencyOf(header), header).to.equal(3);
  });

  it("is the last one if repeated (RFC 9651 §3.2: a later member replaces)", () => {
    expect(urgencyOf("u=1, u=5")).to.equal(5);
  });

  it("is 3 if the value is out of range or of another type (§4)", () => {
    for (const header of ["u", "u=8", "u=-1", "u=10", "u=1.5", 'u="1"', "u=high", "u=?1", "u=(1)"]) {
      expect(urgencyOf(header), header).to.equal(3);
    }
  });

  it("is 3 if the header is not a dictionary (§4: ignored)", () => {
    for (const header of ["u=1,", ",u=1", "U=1", "u= 1", "u =1", "u=1 i", "u=1, @", 'u=1, x="', "u=1;;"]) {
      expect(urgencyOf(header), header).to.equal(3);
    }
  });

  it("is read quickly from a hostile header", () => {
    for (const header of [
      `u=1${"; ".repeat(8000)}`,
      `x=(${" ".repeat(16_000)}`,
      `x=(${"a ".repeat(8000)}@`,
      '"'.repeat(16_001),
    ]) {
      const began = process.cpuUsage();
      urgencyOf(header);
      expect(process.cpuUsage(began).user / 1000).to.be.below(100);
    }
  });
});
