import { expect } from "chai";
import { type Preferences, parsePrefer } from "../../../src/http/headers/prefer.ts";

const NONE: Preferences = { respondAsync: false, wait: undefined, waitAsSent: undefined };

/** Examples and rules of RFC 7240 §2 (syntax), §4.1 (respond-async) and §4.3 (wait). */
describe("Prefer", () => {
  const reads = (header: string | undefined, expected: Partial<Preferences>) =>
    expect(parsePrefer(header), String(header)).to.deep.equal({ ...NONE, ...expected });

  it("asks for nothing when absent, empty or without an element (RFC 9110 §5.6.1)", () => {
    reads(undefined, {});
    reads("", {});
    reads(" , ,, ", {});
  });

  it("reads the examples of RFC 7240 §4.1 and §4.3", () => {
    reads("respond-async", { respondAsync: true });
    reads("respond-async, wait=10", { respondAsync: true, wait: 10, waitAsSent: "wait=10" });
    reads("wait=100", { wait: 100, waitAsSent: "wait=100" });
  });

  it("compares names case-insensitively, in any order (§2)", () => {
    reads("Respond-Async", { respondAsync: true });
    reads("WAIT=3, RESPOND-ASYNC", { respondAsync: true, wait: 3, waitAsSent: "wait=3" });
  });

  it("allows white space around the equals sign, which is BWS (§2)", () => {
    reads("wait = 10", { wait: 10, waitAsSent: "wait=10" });
    reads("wait=\t10", { wait: 10, waitAsSent: "wait=10" });
    reads("  respond-async  ,  wait  =  10  ", { respondAsync: true, wait: 10, waitAsSent: "wait=10" });
  });

  it("accepts a value as token or as quoted string (§2: word)", () => {
    reads('wait="10"', { wait: 10, waitAsSent: "wait=10" });
    reads('wait="\\1\\0"', { wait: 10, waitAsSent: "wait=10" });
  });

  it("treats an empty value as none (§2)", () => {
    reads("wait", { wait: Number.POSITIVE_INFINITY, waitAsSent: "wait" });
    reads("wait=", { wait: Number.POSITIVE_INFINITY, waitAsSent: "wait" });
    reads('wait=""', { wait: Number.POSITIVE_INFINITY, waitAsSent: "wait" });
    reads('respond-async=""', { respondAsync: true });
  });

  it("treats a value of respond-async as another preference (§4.1)", () => {
    reads("respond-async=yes", {});
    reads('respond-async="false"', {});
  });

  it("skips parameters, also empty and quoted ones (§2)", () => {
    reads("respond-async; foo=bar", { respondAsync: true });
    reads('respond-async ; foo="a, wait=3; b" ; bar', { respondAsync: true });
    reads("wait=5;", { wait: 5, waitAsSent: "wait=5" });
    reads('wait=5;;a=;b=""; ;c', { wait: 5, waitAsSent: "wait=5" });
  });

  it("finds no preference within a quoted string", () => {
    reads('foo="respond-async, wait=3"', {});
    reads('foo="say \\"hi\\", respond-async", wait=4', { wait: 4, waitAsSent: "wait=4" });
    reads('foo="\\\\", respond-async', { respondAsync: true });
  });

  it("uses the first of several (§2), even if it is invalid", () => {
    reads("wait=1, wait=2", { wait: 1, waitAsSent: "wait=1" });
    reads("wait=soon, wait=2", {});
    reads("respond-async=no, respond-async", {});
    reads("WAIT=7, wait=9", { wait: 7, waitAsSent: "wait=7" });
  });

  it("ignores unknown preferences (§2)", () => {
    reads('handling=lenient, return=minimal, odata.maxpagesize=10; x, foo="b,c"', {});
    reads("return=representation, respond-async", { respondAsync: true });
  });

  it("ignores what is malformed, and only that (§2)", () => {
    reads("wait==5, respond-async", { respondAsync: true });
    reads("wait 5", {});
    reads("=5, respond-async", { respondAsync: true });
    reads("wait=5 6, respond-async", { respondAsync: true });
    reads("(wait), respond-async", { respondAsync: true });
    reads("respond-async; =x, wait=3", { wait: 3, waitAsSent: "wait=3" });
    reads("wait=5\u00a0", {});
  });

  it("treats all that follows an open quote as part of the string", () => {
    reads('respond-async, foo="bar, wait=3', { respondAsync: true });
  });

  it("accepts only whole seconds from 0 (§4.3: delta-seconds)", () => {
    reads("wait=0", { wait: 0, waitAsSent: "wait=0" });
    reads("wait=007", { wait: 7, waitAsSent: "wait=007" });
    for (const value of ["-1", "+1", "1.5", "1e3", "0x10", "ten", "١٠"]) reads(`wait=${value}`, {});
    expect(parsePrefer(`wait=${"9".repeat(400)}`).wait).to.equal(Number.POSITIVE_INFINITY);
  });

  it("reads a hostile header in linear time", () => {
    const spaces = " ".repeat(7);
    const headers = [
      `wait${`;${spaces}`.repeat(2000)}@`,
      `wait${" ".repeat(16_000)}@`,
      `wait=${" ".repeat(16_000)}@`,
      `a="${"\\\\".repeat(8000)}`,
      `${'"'.repeat(16_001)}`,
      `${"wait=1,".repeat(2500)}@`,
    ];
    for (const header of headers) {
      const began = process.cpuUsage();
      parsePrefer(header);
      expect(process.cpuUsage(began).user / 1000).to.be.below(100);
    }
  });
});
