import { expect } from "chai";
import { parsePrefer } from "../../../src/http/request/prefer.ts";

const asked = (respondAsync: boolean, wait?: number, waitAsSent = wait === undefined ? undefined : `wait=${wait}`) => ({
  ...{ respondAsync, wait, waitAsSent },
});
const [NONE, ASYNC, ANY] = [asked(false), asked(true), asked(false, Number.POSITIVE_INFINITY, "wait")];

/** Examples and rules of RFC 7240 §2 (syntax), §4.1 (respond-async) and §4.3 (wait). */
const ROWS: readonly (readonly [rule: string, expected: ReturnType<typeof asked>, ...headers: string[]])[] = [
  ["asks for nothing without an element (RFC 9110 §5.6.1)", NONE, "", " , ,, "],
  ["compares names case-insensitively (§2)", ASYNC, "respond-async", "Respond-Async", 'respond-async=""'],
  ["reads both, in any order", asked(true, 10), "respond-async, wait=10", "WAIT=10, RESPOND-ASYNC"],
  ["allows white space around the equals sign (§2)", asked(false, 10), "wait = 10", "wait=\t10", "  ,  wait  =  10  "],
  ["accepts a token or a quoted string (§2: word)", asked(false, 10), "wait=10", 'wait="10"', 'wait="\\1\\0"'],
  ["treats an empty value as none (§2)", ANY, "wait", "wait=", 'wait=""'],
  ["takes respond-async with a value for another one (§4.1)", NONE, "respond-async=yes", 'respond-async="false"'],
  ["skips parameters (§2)", ASYNC, "respond-async; foo=bar", 'respond-async ; foo="a, wait=3; b" ; bar'],
  ["skips empty and quoted parameters", asked(false, 5), "wait=5;", 'wait=5;;a=;b=""; ;c'],
  ["finds nothing within a quoted string", NONE, 'foo="respond-async, wait=3"'],
  ["goes on behind one", asked(false, 4), 'foo="say \\"hi\\", respond-async", wait=4', 'foo="\\"", wait=4'],
  ["goes on behind an escaped backslash", ASYNC, 'foo="\\\\", respond-async'],
  ["uses the first of several (§2)", asked(false, 1), "wait=1, wait=2", "WAIT=1, wait=9"],
  ["uses the first even if it is invalid", NONE, "wait=soon, wait=2", "respond-async=no, respond-async"],
  ["ignores unknown ones (§2)", NONE, 'handling=lenient, odata.maxpagesize=10; x, foo="b,c"'],
  ["ignores what is malformed (§2)", NONE, "wait 5", "wait=5\u00a0"],
  ["ignores only that", ASYNC, ...["wait==5", "=5", "wait=5 6", "(wait)"].map((wrong) => `${wrong}, respond-async`)],
  ["ignores a malformed parameter", asked(false, 3), "respond-async; =x, wait=3"],
  ["takes all behind an open quote as its string", ASYNC, 'respond-async, foo="bar, wait=3'],
  ["accepts whole seconds from 0 (§4.3)", asked(false, 7, "wait=007"), "wait=007"],
  ["accepts nothing else", NONE, ...["-1", "+1", "1.5", "1e3", "0x10", "ten", "١٠"].map((value) => `wait=${value}`)],
  [
    "has no end of numbers",
    asked(false, Number.POSITIVE_INFINITY, `wait=${"9".repeat(400)}`),
    `wait=${"9".repeat(400)}`,
  ],
];

describe("Prefer", () => {
  for (const [rule, expected, ...headers] of ROWS) {
    it(rule, () => {
      for (const header of headers) expect(parsePrefer(header), header).to.deep.equal(expected);
    });
  }

  it("reads a hostile header in linear time", () => {
    const spaces = " ".repeat(7);
    for (const header of [
      ...[`wait${`;${spaces}`.repeat(2000)}@`, `wait${" ".repeat(16_000)}@`, `wait=${" ".repeat(16_000)}@`],
      ...[`a="${"\\\\".repeat(8000)}`, `${'"'.repeat(16_001)}`, `${"wait=1,".repeat(2500)}@`],
    ]) {
      const began = process.cpuUsage();
      parsePrefer(header);
      expect(process.cpuUsage(began).user / 1000).to.be.below(100);
    }
  });
});
