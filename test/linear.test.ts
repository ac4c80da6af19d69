import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { parseSync, Visitor } from "oxc-parser";
import { filesIn } from "../scripts/files.ts";
import { plain, plainLines } from "../src/cli/terminal/print.ts";
import { retryAfterOf } from "../src/client/connection.ts";
import { msOf } from "../src/client/time.ts";
import { isUnsafePath } from "../src/extras/gateway/request.ts";
import { isActive, isContentType } from "../src/handler/result-headers.ts";
import { checkIdempotencyKey, requestIdOf } from "../src/http/headers/request-id.ts";
import { filterOf } from "../src/http/queues/lists.ts";
import { weightOf } from "../src/http/request/accept.ts";
import { parseJson, readMediaType } from "../src/http/request/body.ts";
import { namesVersion } from "../src/http/request/etag.ts";
import { shownHost, withoutPort } from "../src/http/request/forwarded.ts";
import { parsePrefer } from "../src/http/request/prefer.ts";
import { retryAfterMs } from "../src/net/retry-after.ts";
import { escapedControls, redaction } from "../src/redact.ts";
import { Keys } from "../src/store/keys.ts";
import { traceOf } from "../src/trace/trace-context.ts";
import { urgencyOf } from "../src/wire/request.ts";
import { readSubmitOptions } from "../src/wire/submission.ts";
import { matched } from "./helpers/http/matched.ts";
import { ROOT } from "./shared/root.ts";

/** Where a quadratic reader takes much longer than a linear one needs, and a quarter of it. */
const LONG = 16_000;
const SHORT = LONG / 4;
/** What a linear reader needs at most for a long text, of CPU: only what takes more is compared with a short one. */
const LITTLE_MS = 5;
/** Of the times for a long and a short text: 4 of a linear reader, 16 of a quadratic one. */
const MAX_GROWTH = 9;
/** So often in a row it must look so: the collector and the compiler, in threads of their own, count as well. */
const ROUNDS = 5;

/** A piece is repeated between what may have to stand before and behind it. */
type Pump = readonly [before: string, piece: string, behind: string];

const textOf = ([before, piece, behind]: Pump, length: number): string =>
  before + piece.repeat(Math.ceil(length / piece.length)) + behind;

/** CPU time of a call, ms: the least of some, so that nothing else counts. */
function costOf(read: (text: string) => unknown, text: string, tries: number): number {
  let min = Number.POSITIVE_INFINITY;
  for (let n = 0; n < tries; n += 1) {
    const begun = process.cpuUsage();
    try {
      read(text);
    } catch {
      // A refusal is as good as an answer: what counts is that it comes.
    }
    min = Math.min(min, process.cpuUsage(begun).user / 1000);
  }
  return min;
}

/** The pumps whose cost grows faster than their length. */
function costly(read: (text: string) => unknown, pumps: readonly Pump[]): string[] {
  return pumps
    .filter((pump) => {
      const long = textOf(pump, LONG);
      if (costOf(read, long, 1) < LITTLE_MS || costOf(read, long, 3) < LITTLE_MS) return false;
      const short = textOf(pump, SHORT);
      return Array.from({ length: ROUNDS }).every(
        () => costOf(read, long, 3) > MAX_GROWTH * Math.max(0.1, costOf(read, short, 5)),
      );
    })
    .map((pump) => JSON.stringify(pump));
}

describe("the readers of text that others choose", () => {
  const PIECES = [
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
    ],
    ...[
      ":",
      "[",
      "W/",
      'W/"',
      '"a" ',
      "u=(",
      ";a=1",
      "1.",
      "-1",
      "%",
      "é",
      "a=b;",
      "a = b",
      "/",
      "a/",
      "../../",
      "%2e",
    ],
    ...[
      "+json ",
      "xml",
      "a.",
      "://",
      "://a:",
      "a:b@",
      "?key=",
      "&a=",
      "bearer ",
      "ph_",
      "whsec_",
      '"cookie":["',
      "\r\n",
    ],
    ...["<meta ", "charset=", "<!--", "\u009b", "word-", "1,", "\\u00", "\n    at ", '","stack":"'],
  ];
  const PUMPS = PIECES.flatMap((piece): Pump[] => [
    ["", piece, ""],
    ["a", piece, "b"],
    ['"', piece, "x"],
    ["a=", piece, "b c"],
    ["a.a.a.a.a.a://", piece, ""],
    ["application/", piece, "\u0001"],
  ]);
  const clean = redaction(["a known secret"]);
  const READERS: Readonly<Record<string, (text: string) => unknown>> = {
    Prefer: parsePrefer,
    Accept: (text) => weightOf(text, "text/html"),
    Priority: urgencyOf,
    "Content-Type": readMediaType,
    "the content type of a result": (text) => [isActive(text), isContentType(text)],
    "If-None-Match": (text) => namesVersion(text, 'W/"a"'),
    "X-Forwarded-For": withoutPort,
    Host: shownHost,
    "Idempotency-Key": (text) => checkIdempotencyKey({ "idempotency-key": text }),
    traceparent: (text) => traceOf({ traceparent: text, tracestate: text }),
    "Retry-After": (text) => [retryAfterMs(text, { nowMs: 0, maxMs: 1000 }), retryAfterOf(text)],
    "an id in a path": (id) =>
      requestIdOf(
        { ...matched("PUT", "/v1/requests/a"), params: { id }, headers: {} },
        null,
        { value: "secret" },
        new Keys("linear:", 1),
      ),
    "a path behind a gateway": isUnsafePath,
    JSON: parseJson,
    "a query": (text) => readSubmitOptions(text, {}),
    "a delay": (delay) => readSubmitOptions(String(new URLSearchParams({ delay })), {}),
    "a time": (notBefore) => readSubmitOptions(String(new URLSearchParams({ notBefore })), {}),
    "Cancel-After": (text) => readSubmitOptions("", { "cancel-after": text }),
    "a filter": (text) => filterOf({ idPrefix: text, caller: text, key: text }),
    "a duration": msOf,
    "a log line": (text) => clean(JSON.stringify({ path: text, msg: text, stack: text })),
    "a log line of anything": clean,
    "text for a terminal": (text) => [plain(text), plainLines(text), escapedControls(text)],
  };

  for (const [name, read] of Object.entries(READERS)) {
    it(`take time in proportion to its length: ${name}`, () => {
      expect(costly(read, PUMPS)).to.deep.equal([]);
    });
  }
});

describe("every regular expression", () => {
  const COMMON = [" ", "a", "0", "\n"];

  /** Text made of what an expression is made of. */
  function pumpsFor(source: string): Pump[] {
    const literal = source.replace(/\\[bBdDwWsSpPu]|\(\?[:=!<]*|[\^$|()?+*{}[\]]/g, " ").replaceAll("\\", "");
    const pieces = [...new Set([...COMMON, ...literal.replaceAll(" ", ""), ...literal.split(/\s+/)])].slice(0, 24);
    const pairs = pieces.flatMap((a) => pieces.map((b) => a + b));
    return [...pieces, ...pairs].filter((piece) => piece !== "").map((piece): Pump => ["", piece, "\u0001"]);
  }

  function expressionsOf(file: string): { place: string; expression: RegExp }[] {
    const text = readFileSync(join(ROOT, "src", file), "utf8");
    const found: { place: string; expression: RegExp }[] = [];
    new Visitor({
      Literal(node) {
        if (!("regex" in node)) return;
        const { pattern, flags } = node.regex;
        const line = text.slice(0, node.start).split("\n").length;
        // Looked for everywhere, as the ones with g and those without ^ are.
        found.push({ place: `${file}:${line}`, expression: new RegExp(pattern, `${flags.replace("g", "")}g`) });
      },
    }).visit(parseSync(file, text).program);
    return found;
  }

  const expressions = filesIn(join(ROOT, "src"))
    .filter((file) => /\.[jt]s$/.test(file))
    .flatMap(expressionsOf);

  it("takes time in proportion to the length of the text", function () {
    this.timeout(180_000);
    expect(expressions.length).to.be.above(200);
    const found = expressions.flatMap(({ place, expression }) =>
      costly((text) => text.replace(expression, ""), pumpsFor(expression.source)).map((pump) => `${place} ${pump}`),
    );
    expect(found).to.deep.equal([]);
  });
});
