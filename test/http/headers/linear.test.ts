import { expect } from "chai";
import { isActive } from "../../../src/handler/result-headers.ts";
import { weightOf } from "../../../src/http/headers/accept.ts";
import { namesVersion } from "../../../src/http/headers/etag.ts";
import { forwardedAddress, shownHost } from "../../../src/http/headers/forwarded.ts";
import { readMediaType } from "../../../src/http/headers/media-type.ts";
import { parsePrefer } from "../../../src/http/headers/prefer.ts";
import { urgencyOf } from "../../../src/http/headers/priority.ts";
import { checkIdempotencyKey, requestIdOf } from "../../../src/http/headers/request-id.ts";
import { parseJson } from "../../../src/http/input/json.ts";
import { readSubmitOptions } from "../../../src/http/submission/submit-options.ts";

/** Six times as long as a head may be: what takes the square of it would not end within the time of a test. */
const LENGTH = 100_000;
const fill = (piece: string) => piece.repeat(Math.ceil(LENGTH / piece.length));

/** Values that cost the square of their length where a reader goes back. */
const HOSTILE = [
  ...[
    " ",
    "\t",
    ",",
    ";",
    "=",
    '"',
    "\\",
    '\\"',
    "a",
    "0",
    " ,",
    ", ",
    " ;",
    ";=",
    '="',
    '";',
    " a",
    "a ",
    "(",
    "( ",
    ":",
    "[",
  ],
  ...["W/", 'W/"', '"a" ', "u=(", ";a=1", "1.", "-1", "%", "é", "a=b;", "a = b", "/", "a/", "../../", "+json ", "xml"],
].flatMap((piece) => [fill(piece), `${fill(piece)}x`, `a${fill(piece)}b`, `"${fill(piece)}`, `a=${fill(piece)}b c`]);

const ignoring = (work: () => unknown) => () => {
  try {
    work();
  } catch {
    // A refusal is as good as an answer: what counts is that it comes.
  }
};

describe("the parsers of values that callers choose", () => {
  const READERS: Readonly<Record<string, (value: string) => unknown>> = {
    Prefer: parsePrefer,
    Accept: (value) => weightOf(value, "text/html"),
    Priority: urgencyOf,
    "Content-Type": readMediaType,
    "the content type of a result": isActive,
    "If-None-Match": (value) => namesVersion(value, 'W/"a"'),
    "X-Forwarded-For": forwardedAddress,
    Host: shownHost,
    "Idempotency-Key": (value) => checkIdempotencyKey({ "idempotency-key": value }),
    "a path": (path) => requestIdOf({ method: "PUT", path, headers: {} }, null, { value: "secret" }),
    JSON: parseJson,
    "a query": (value) => readSubmitOptions(new URLSearchParams(value), {}, 0),
    "a delay": (delay) => readSubmitOptions(new URLSearchParams({ delay }), {}, 0),
    "a time": (notBefore) => readSubmitOptions(new URLSearchParams({ notBefore }), {}, 0),
  };

  for (const [name, read] of Object.entries(READERS)) {
    it(`take time in proportion to the length: ${name}`, function () {
      this.timeout(60_000);
      const begun = process.cpuUsage();
      for (const value of HOSTILE) ignoring(() => read(value))();
      // Twenty times what it takes on a slow machine, and a small part of what the squares would.
      expect(process.cpuUsage(begun).user / 1e6).to.be.below(45);
    });
  }
});
