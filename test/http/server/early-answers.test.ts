import { once } from "node:events";
import http from "node:http";
import net from "node:net";
import { buffer } from "node:stream/consumers";
import { expect } from "chai";
import { testKeys } from "../../helpers/http/api-keys.ts";
import { rawAnswer } from "../../helpers/http/raw.ts";
import { exchange, startServer, type TestServer } from "../../helpers/http/server.ts";
import { hasNginx, type Nginx, startNginx } from "../../helpers/nginx.ts";

const MIB = 1024 ** 2;
const BODY = Buffer.alloc(8 * MIB, " ");

/** Reads nothing before all is sent, as simple clients do; returns the answer, and whether the connection ended in order. */
async function sendThenRead(url: string, head: string, body: Buffer = BODY) {
  const socket = net.connect(Number(new URL(url).port), "127.0.0.1").pause();
  const failed = new Promise<string>((resolve) => socket.once("error", ({ message }) => resolve(message)));
  socket.write(`${head}\r\n\r\n`);
  const sent = new Promise<string>((resolve) => socket.write(body, () => resolve("sent")));
  const chunks: Buffer[] = [];
  socket.on("data", (chunk: Buffer) => chunks.push(chunk));
  socket.pause();
  const how = await Promise.race([sent, failed]);
  const ended = once(socket, "close").then(() => "ended");
  socket.resume();
  const end = await Promise.race([failed, ended]);
  return { how, end, ...rawAnswer(Buffer.concat(chunks).toString("latin1")) };
}

describe("an answer that is given before the body has been read", function () {
  this.timeout(120_000);
  const keys = testKeys({ ann: ["submit"] });
  let open: TestServer;
  let guarded: TestServer;
  let limited: TestServer;
  before(async () => {
    open = await startServer();
    guarded = await startServer(keys.env);
    limited = await startServer({ RATE_LIMIT: "1/1h" });
    await limited.send("/v1/queues");
  });
  after(async () => {
    for (const server of [open, guarded, limited]) await server.stop();
  });

  const JSON_BODY = "Content-Type: application/json";
  const LENGTH = `Content-Length: ${BODY.length}`;
  const refusals = {
    "400 of a malformed chunk": ["POST /v1/requests", JSON_BODY, "Transfer-Encoding: chunked"],
    "401": ["POST /v1/requests", LENGTH],
    "404": ["POST /nowhere", LENGTH],
    "405": ["DELETE /v1/queues", LENGTH],
    "413 of a length": ["POST /v1/requests", LENGTH, JSON_BODY],
    "413 of a batch": [
      "POST /v1/queues/default/batches",
      "Content-Length: 99000000",
      "Content-Type: application/x-ndjson",
    ],
    "415": ["POST /v1/requests", LENGTH, "Content-Type: image/png"],
    "421": ["POST /v1/requests", LENGTH, JSON_BODY],
    "429": ["POST /v1/requests", LENGTH, JSON_BODY],
    "431": ["POST /v1/requests", LENGTH, `X-A: ${"a".repeat(60_000)}`],
  };
  for (const [name, [request = "", ...headers]] of Object.entries(refusals)) {
    for (const version of ["1.0", "1.1"]) {
      it(`arrives where the connection is not kept, with HTTP/${version}: ${name}`, async () => {
        const { url } = { "401": guarded, "429": limited }[name] ?? open;
        const host = name === "421" ? "elsewhere.example" : "127.0.0.1";
        const head = [`${request} HTTP/${version}`, `Host: ${host}`, "Connection: close", ...headers].join("\r\n");
        const { how, end, status } = await sendThenRead(url, head);
        expect([how, end, status]).to.deep.equal(["sent", "ended", Number.parseInt(name, 10)]);
      });
    }
  }

  it("is the end of a client that goes on sending: 10 s or 64 MiB later its connection is closed", async () => {
    const begun = performance.now();
    const flood = async (connection: string, piece: Buffer, pauseMs: number, before = "") => {
      const socket = net.connect({ port: Number(new URL(open.url).port), host: "127.0.0.1", allowHalfOpen: true });
      socket.on("error", () => undefined);
      socket.write(
        `${before}POST /nowhere HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: ${connection}\r\nContent-Length: 9999999999\r\n\r\n`,
      );
      const [answer] = await once(socket, "data");
      expect(String(answer)).to.match(/^HTTP\/1.1 4[01]4 /);
      const send = () => void socket.write(piece, () => setTimeout(send, pauseMs));
      send();
      // Not `once`, which would reject of the error of the connection.
      await new Promise((resolve) => socket.once("close", resolve));
      return { seconds: (performance.now() - begun) / 1000, mib: socket.bytesWritten / MIB };
    };
    const [fast, ...slow] = await Promise.all([
      flood("close", BODY, 10),
      flood("close", Buffer.from("x"), 500),
      flood("keep-alive", Buffer.from("x"), 500),
      // The connection ends with the answer to the first.
      flood("close", Buffer.from("x"), 500, `GET /${"x".repeat(17_000)} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`),
    ]);
    expect(fast.mib).to.be.within(64, 1024);
    expect(fast.seconds).to.be.below(9);
    for (const { seconds } of slow) expect(seconds).to.be.within(10, 14);
  });

  it("leaves no listener on a connection that goes on", async () => {
    const warnings: Error[] = [];
    const onWarning = (warning: Error) => warnings.push(warning);
    process.on("warning", onWarning);
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    try {
      const sockets = new Set<net.Socket>();
      for (let n = 0; n < 20; n += 1) {
        const request = http.request(new URL("/v1/queues/none/requests", open.url), { agent, method: "POST" });
        const answered = once(request, "response") as Promise<[http.IncomingMessage]>;
        request.on("socket", (socket) => sockets.add(socket)).end("1");
        const [response] = await answered;
        expect(response.statusCode).to.equal(404);
        await buffer(response);
      }
      expect(sockets.size).to.equal(1);
      expect(warnings.map(({ message }) => message)).to.deep.equal([]);
    } finally {
      process.off("warning", onWarning);
      agent.destroy();
    }
  });

  describe("through nginx that passes bodies on as they come", () => {
    let nginx: Nginx;
    before(async function () {
      if (!hasNginx) return this.skip();
      const location = (path: string, to: TestServer) =>
        `location ${path} { proxy_pass ${to.url}/; proxy_request_buffering off; proxy_set_header Host 127.0.0.1; }`;
      nginx = await startNginx(`${location("/open/", open)} ${location("/guarded/", guarded)}`);
    });
    after(() => nginx?.stop());

    for (const [status, path, type] of [
      [401, "/guarded/v1/requests", "application/json"],
      [404, "/open/nowhere", "application/json"],
      [413, "/open/v1/requests", "application/json"],
      [415, "/open/v1/requests", "image/png"],
    ] as const) {
      it(`arrives every time: ${status}`, async () => {
        const headers = { "Content-Type": type };
        for (let n = 0; n < 10; n += 1) {
          const answer = await exchange(new URL(path, nginx.url), {
            method: "POST",
            headers,
            body: BODY,
            contract: false,
          });
          expect([answer.status, answer.headers["content-type"]]).to.deep.equal([status, "application/problem+json"]);
        }
      });
    }
  });
});
