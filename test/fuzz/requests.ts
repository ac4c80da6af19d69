import fc from "fast-check";
import { allRoutes } from "../helpers/http/matched.ts";
import { UPSTREAM_WAYS } from "./upstream.ts";

/** A value that is made up, or one the server has handed out so far. */
export type Name = { readonly made: string } | { readonly known: number };

/** A request as it is generated; what stands for ids is filled in when it is sent. */
export interface FuzzRequest {
  readonly method: string;
  readonly path: string;
  readonly id: Name;
  readonly query: readonly (readonly [string, string])[];
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | null;
  /** Whose key it shows, where the server has keys; beyond the last of them: none. */
  readonly caller: number;
  /** Sent in pieces of this size, without a Content-Length; 0: at once. */
  readonly pieces: number;
}

/** Queues of the fixtures that need no gate, and names that are none. */
const QUEUES = "default checked answers failing giving-up later late brief images logging upstream".split(" ");
const ODD_NAMES = [
  ...["", "nowhere", "UPPER", "a".repeat(65), "..", "%2e%2e", "%ff", "a%00b", "__proto__", "paihao.undo", "ü"],
  "%F0%9F%8E%AB",
];

/** Every route of the server, with the methods that it takes; but for output, whose answer lasts as long as its task. */
const ROUTES = allRoutes()
  .filter(({ path }) => path !== "/v1/requests/:id/output")
  .flatMap(({ method, path }) => {
    const template = path.replace(":queue", "{queue}").replace(/\{\*\w+\}|:\w+/g, "{id}");
    return [method].flat().map((one) => [one, template] as const);
  });
const PATHS = [
  ...new Set(ROUTES.map(([, path]) => path)),
  ...["/v1/gateway/upstream/{id}", "/v1/gateway/{queue}/{id}/x", "/problems/pending"],
  ...UPSTREAM_WAYS.map((way) => `/v1/gateway/upstream/${way}`),
];

const odd = fc.oneof(
  fc.string({ maxLength: 20 }),
  fc.string({ unit: "binary", maxLength: 20 }),
  fc.constantFrom(..." ,0,-1,1e9,NaN,null,true,../x,\u0000,𝟙".split(","), "", "a,b", "9".repeat(30), "x".repeat(300)),
);

const id: fc.Arbitrary<Name> = fc.oneof(
  { weight: 4, arbitrary: fc.nat(1000).map((known) => ({ known })) },
  {
    weight: 2,
    arbitrary: fc.string({ unit: "grapheme-ascii", maxLength: 12 }).map((made) => ({ made: encodeURIComponent(made) })),
  },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom(
        ...ODD_NAMES,
        "x".repeat(128),
        "x".repeat(129),
        `a-${"00000000-0000-4000-8000-000000000000"}`,
        "a:b",
        "%",
      )
      .map((made) => ({ made })),
  },
);

const queue = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom(...QUEUES) },
  { weight: 1, arbitrary: fc.constantFrom(...ODD_NAMES) },
);

const path = fc.oneof(
  { weight: 20, arbitrary: fc.tuple(fc.constantFrom(...PATHS), queue).map(([p, q]) => p.replace("{queue}", () => q)) },
  {
    weight: 2,
    arbitrary: fc
      .tuple(fc.constantFrom(...PATHS), fc.constantFrom("/", "//", "/..", ";x", "%20", "?", "/.", "%2f"))
      .map(([p, end]) => `${p.replace("{queue}", "default")}${end}`),
  },
  { weight: 1, arbitrary: fc.webPath().map((p) => `/${p.replace(/^\/+/, "")}`) },
);

/** Never a host that would have to be looked up. */
const webhook = fc.constantFrom(
  ...["http://127.0.0.1:1/", "https://[::1]/", "https://10.0.0.1/x", "ftp://1.2.3.4/", "nonsense", "//"],
  "https://169.254.169.254/",
);

const query = fc.array(
  fc.oneof(
    fc.tuple(fc.constantFrom("delay", "maxIndex", "limit"), fc.oneof(fc.nat(400).map(String), odd)),
    fc.tuple(
      fc.constant("notBefore"),
      fc.oneof(
        fc.date({ noInvalidDate: true, min: new Date(0), max: new Date(4e12) }).map((d) => d.toISOString()),
        odd,
      ),
    ),
    fc.tuple(fc.constantFrom("dryRun", "envelope"), fc.oneof(fc.constantFrom("true", "false"), odd)),
    fc.tuple(fc.constant("pending"), fc.oneof(fc.constantFrom("202", "404"), odd)),
    fc.tuple(fc.constantFrom("onComplete", "ONCOMPLETE"), fc.oneof(fc.constantFrom("redirect", "stream"), odd)),
    fc.tuple(fc.constant("onPending"), fc.oneof(fc.constantFrom("synchronous", "accepted"), odd)),
    fc.tuple(fc.constant("webhook"), webhook),
    fc.tuple(fc.constant("queue"), queue),
    fc.tuple(
      fc.constant("cursor"),
      fc.oneof(
        fc.tuple(fc.nat(), odd).map(([n, o]) => Buffer.from(`${n} ${o}`).toString("base64url")),
        odd,
      ),
    ),
    fc.tuple(fc.constantFrom("expires", "signature", "lastEventId", "__proto__", "constructor"), odd),
    fc.tuple(odd, odd),
  ),
  { maxLength: 3, size: "-1" },
);

/** What may stand in a header: everything but control characters. */
const field = fc.string({
  unit: fc.integer({ min: 0x20, max: 0xff }).map((code) => (code === 0x7f ? " " : String.fromCharCode(code))),
  maxLength: 40,
});

/** Values of headers, by name. */
const HEADERS: Readonly<Record<string, fc.Arbitrary<string>>> = {
  Prefer: fc.oneof(
    fc.constantFrom("respond-async", "wait=0", "wait", "respond-async, wait=1", 'wait="0"', "wait=0;x=y"),
    field,
  ),
  Priority: fc.oneof(fc.constantFrom("u=0", "u=7", "u=9, i", "u=3;a"), field),
  "X-Request-Id": fc.oneof(fc.string({ unit: "grapheme-ascii", maxLength: 8 }), field, fc.constant("x".repeat(129))),
  "Idempotency-Key": fc.oneof(fc.constantFrom("a", '"a"', '"a', "k".repeat(256)), field),
  Accept: fc.oneof(fc.constantFrom("text/html", "application/json", "text/event-stream", "*/*;q=0"), field),
  "Content-Type": fc.oneof(
    fc.constantFrom("application/json", "application/x-ndjson", "image/png", "application/json; charset=latin1", ""),
    field,
  ),
  "Content-Encoding": fc.constantFrom("gzip", "identity", ""),
  "If-None-Match": fc.oneof(fc.constantFrom("*", '"x"', 'W/"x", "y"'), field),
  "Last-Event-ID": field,
  Origin: fc.oneof(fc.constantFrom("null", "https://evil.example"), field),
  "Sec-Fetch-Site": fc.constantFrom("cross-site", "same-origin"),
  "X-Forwarded-For": field,
  "X-Forwarded-Host": field,
  "X-Forwarded-Proto": field,
  Host: fc.constantFrom("localhost", "[::1]", "127.0.0.1:99999", "example", "[::1", "a b", "", "/"),
  Range: fc.constant("bytes=0-1"),
  Authorization: fc.oneof(fc.constantFrom("Bearer", "Bearer x", "Basic eDp5"), field),
};

/** Up to so many headers, each clean enough for Node's client to send it. */
const headersOf = (max: number) =>
  fc
    .uniqueArray(fc.constantFrom(...Object.keys(HEADERS)), { maxLength: max })
    .chain((names) => fc.tuple(...names.map((name) => (HEADERS[name] ?? field).map((value) => [name, clean(value)]))))
    .map((entries): Record<string, string> => Object.fromEntries(entries));

/** As Node's client lets it through. */
function clean(value: string): string {
  return [...value].map((char) => (char < " " || char > "\u00ff" || char === "\u007f" ? "?" : char)).join("");
}

const lease = fc.record(
  {
    fence: fc.oneof(fc.nat(), odd),
    lease: fc.oneof(fc.nat(100), fc.double()),
    percent: fc.double(),
    result: fc.jsonValue(),
    body: fc.string(),
    error: fc.string(),
    giveUp: fc.oneof(fc.object(), fc.constant({ status: 503 })),
    after: fc.double(),
    count: fc.integer(),
    worker: fc.string(),
  },
  { requiredKeys: [] },
);

const json = fc.oneof(
  fc.jsonValue(),
  fc.object({ maxDepth: 3 }),
  lease,
  fc.record({ width: fc.oneof(fc.nat(120), odd), tags: fc.jsonValue() }),
  fc.record({
    kind: fc.constantFrom("json", "null", "text", "created", "nothing", "empty", "bytes", "html", "cheeky", "none"),
  }),
  fc.record(
    {
      status: fc.oneof(fc.integer({ min: 400, max: 599 }), fc.anything()),
      title: odd,
      type: odd,
      detail: odd,
      instance: odd,
    },
    { requiredKeys: [] },
  ),
  fc.record({ id: odd, input: fc.jsonValue(), priority: fc.integer(), delay: fc.double() }, { requiredKeys: [] }),
);

const body = fc.oneof(
  { weight: 3, arbitrary: fc.constant(null) },
  { weight: 6, arbitrary: json.map((value) => Buffer.from(JSON.stringify(value) ?? "")) },
  {
    weight: 2,
    arbitrary: fc.array(json, { maxLength: 6 }).map((all) => Buffer.from(all.map((v) => JSON.stringify(v)).join("\n"))),
  },
  { weight: 2, arbitrary: fc.uint8Array({ maxLength: 64 }).map((bytes) => Buffer.from(bytes)) },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom("{", '{"a":1', "[".repeat(70) + "]".repeat(70), '{"__proto__":{"x":1}}', "\ufeff1", '"\\ud800"')
      .map((t) => Buffer.from(t)),
  },
  { weight: 1, arbitrary: fc.nat(5000).map((n) => Buffer.alloc(n, "x")) },
);

const METHODS = ["GET", "POST", "PUT", "DELETE", "HEAD", "PATCH", "OPTIONS", "PROPFIND", "TRACE", "M-SEARCH"] as const;

/** Anything, to any path. */
const wild = fc.record({ method: fc.constantFrom(...METHODS), path, headers: headersOf(6), body });

const jsonBody = json.map((value) => Buffer.from(JSON.stringify(value) ?? "null"));
const ndjsonBody = fc
  .array(json, { maxLength: 8 })
  .map((values) => Buffer.from(values.map((value) => JSON.stringify(value)).join("\n")));

/** What comes near to being right: a method that the path has, a body that it may want, and a header or two. */
const near = fc
  .constantFrom(
    ...ROUTES,
    // Without tasks there is nothing to ask for.
    ...Array.from({ length: 12 }, () => ["POST", "/v1/queues/{queue}/requests"] as const),
    ...Array.from({ length: 3 }, () => ["POST", "/v1/queues/{queue}/batches"] as const),
  )
  .chain(([method, template]) => {
    const isBatch = template.endsWith("/batches");
    const mayHaveBody = method === "POST" || method === "PUT" || method === "PATCH";
    return fc.record({
      method: fc.constant(method),
      path: queue.map((name) => template.replace("{queue}", () => name)),
      headers: headersOf(2).map((sent) => ({ ...(isBatch && { "Content-Type": "application/x-ndjson" }), ...sent })),
      body: isBatch ? ndjsonBody : mayHaveBody ? jsonBody : fc.constant(null),
    });
  });

/** Requests over every route. */
export const fuzzRequest: fc.Arbitrary<FuzzRequest> = fc
  .tuple(
    fc.oneof({ weight: 3, arbitrary: near }, { weight: 1, arbitrary: wild }),
    fc.record({ id, query, caller: fc.nat(5), pieces: fc.constantFrom(0, 0, 0, 1, 7) }),
  )
  .map(([request, rest]) => ({ ...request, ...rest }));
