import net from "node:net";
import fc from "fast-check";
import { rawAnswer } from "../helpers/http/raw.ts";
import { UPSTREAM_WAYS } from "./upstream.ts";

/** Bytes as they go over a connection of their own, in pieces. */
export interface RawRequest {
  readonly bytes: string;
  readonly pieces: number;
}

const LONG = "x".repeat(20_000);
const method = fc.constantFrom("GET", "POST", "PUT", "DELETE", "OPTIONS", "CONNECT", "PRI", "get", "", "A B", LONG);
const target = fc.constantFrom(
  ...["/v1/requests", "/v1/queues", "/v1/queues/default/batches", "/v1/requests/x", "/api/v1/task", "*"],
  ...UPSTREAM_WAYS.map((way) => `/v1/gateway/upstream/${way}`),
  ...["http://localhost/v1/queues", "http://x/v1/gateway/upstream/../..%2f", "//", "", "/\u0000", "/%", "/é"],
  ...[`/${LONG}`, `/v1/requests?${LONG}`, `/${LONG.repeat(4)}`, "/v1/gateway/upstream/..;/x", "localhost:80"],
);
const version = fc.oneof(
  { weight: 6, arbitrary: fc.constant("HTTP/1.1") },
  {
    weight: 1,
    arbitrary: fc.constantFrom("HTTP/1.0", "HTTP/2.0", "HTTP/0.9", "HTTP/1.1 ", "http/1.1", "", "HTTP/1.12"),
  },
);
const field = fc.constantFrom(
  ...["Host: localhost", "Host: x", "Host:", "Host: a\u0000b", "Connection: close", "Connection: Upgrade"],
  ...["2", "0", "-1", "1e3", "2, 2", "99999999999999999999"].map((length) => `Content-Length: ${length}`),
  ...["chunked", "gzip, chunked", "xchunked"].map((coding) => `Transfer-Encoding: ${coding}`),
  ...[
    "Transfer-Encoding : chunked",
    " folded",
    "\tfolded",
    "no colon",
    ": empty",
    "X\u0000: y",
    "X: \u0000",
    "X: a\rb",
  ],
  ...[
    "X: \u007f",
    "é: é",
    `X: ${LONG}`,
    "a:\r\n".repeat(3000).slice(0, -2),
    "Expect: 100-continue",
    "Expect: nonsense",
  ],
  ...["Upgrade: h2c", "Prefer: respond-async", `Prefer: wait=${"9".repeat(400)}`, "Content-Type: application/json"],
  ...["Content-Type: application/x-ndjson", "Content-Encoding: br", `Connection: a${"\t".repeat(15_000)}b`],
  ...[`Content-Type: x;charset=${" ".repeat(15_000)}a b`, `Accept: ${",".repeat(15_000)}`],
  ...[`Prefer: ${';="'.repeat(5000)}`, `If-None-Match: ${'W/"'.repeat(5000)}`, `Priority: u=(${" a".repeat(7000)}`],
  ...[`X-Forwarded-For: ${" ,".repeat(7000)}`, `Authorization: Basic ${"=".repeat(15_000)}`, 'Idempotency-Key: "\\'],
);
const body = fc.oneof(
  fc.constantFrom(
    ...["", "{}", "{", "2\r\n{}\r\n0\r\n\r\n", "zz\r\n", "-1\r\n", "ffffffffffffffff\r\nx", "0\r\nX: y\r\n\r\n"],
    ...[`2;${LONG}\r\n{}\r\n0\r\n\r\n`, `0\r\n${"a:b\r\n".repeat(5000)}\r\n`, "2\r\n{}x\r\n", "[".repeat(100_000)],
  ),
  fc.string({ unit: "binary", maxLength: 30 }),
);
const message = fc
  .record({
    method,
    target,
    version,
    fields: fc.array(field, { maxLength: 5 }),
    host: fc.boolean(),
    end: fc.constantFrom("\r\n", "\r\n", "\r\n", "\n", "\r"),
    body,
  })
  .map(({ fields, host, end, ...rest }) =>
    [
      `${rest.method} ${rest.target} ${rest.version}`,
      ...(host ? ["Host: localhost"] : []),
      ...fields,
      "",
      rest.body,
    ].join(end),
  );

/** Requests that Node's client would never send: one to three on a connection, cut off anywhere. */
export const rawRequest: fc.Arbitrary<RawRequest> = fc.record({
  bytes: fc
    .tuple(fc.array(message, { minLength: 1, maxLength: 3 }), fc.option(fc.nat(400)))
    .map(([messages, cut]) => messages.join("").slice(0, cut ?? undefined)),
  pieces: fc.constantFrom(0, 0, 1, 100, 5000),
});

/** What is wrong with the answer, if there is one: a request that is none may just be cut off. @throws nothing */
export async function sendRaw(url: string, { bytes, pieces }: RawRequest, hangMs: number): Promise<string[]> {
  const said = JSON.stringify(bytes.length > 400 ? `${bytes.slice(0, 400)}… (${bytes.length})` : bytes);
  const text = await answerTo(Number(new URL(url).port), Buffer.from(bytes, "latin1"), pieces, hangMs);
  if (text === undefined) return [`no end of the connection within ${hangMs} ms\n  to ${said}`];
  const last = text.replace(/^(?:HTTP\/1\.1 100 Continue\r\n\r\n)+/, "");
  if (last === "") return [];
  if (!/^HTTP\/1\.1 [1-5]\d\d /.test(last)) return [`no HTTP: ${last.slice(0, 100)}\n  to ${said}`];
  const { status, headers } = rawAnswer(last, { contract: false });
  const ofTask = headers["x-task-state"] !== undefined;
  const wrong: string[] = [];
  if (status === 500 && !ofTask) wrong.push(`undocumented ${last.slice(0, 600)}\n  to ${said}`);
  if (headers["x-content-type-options"] !== "nosniff") wrong.push(`no nosniff: ${last.slice(0, 300)}\n  to ${said}`);
  return wrong;
}

/** All that comes until the server ends the connection; undefined where it does not. */
async function answerTo(port: number, bytes: Buffer, pieces: number, hangMs: number): Promise<string | undefined> {
  const socket = net.connect(port, "127.0.0.1");
  socket.on("error", () => undefined);
  const chunks: Buffer[] = [];
  socket.on("data", (chunk: Buffer) => chunks.push(chunk));
  // Not `once`, which would reject of an error.
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  // More pieces would take longer than the request.
  const size = pieces === 0 ? bytes.length : Math.max(pieces, Math.ceil(bytes.length / 50));
  for (let at = 0; at < bytes.length && !socket.destroyed; at += size) {
    socket.write(bytes.subarray(at, at + size));
    if (pieces > 0) await new Promise((resolve) => setImmediate(resolve));
  }
  socket.end();
  const timer = setTimeout(() => socket.destroy(new Error("hangs")), hangMs);
  let hangs = false;
  socket.once("error", (error) => {
    hangs = error.message === "hangs";
  });
  await closed;
  clearTimeout(timer);
  return hangs ? undefined : Buffer.concat(chunks).toString("latin1");
}
