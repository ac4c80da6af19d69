import { once } from "node:events";
import net from "node:net";
import { expect } from "chai";
import Koa from "koa";
import { HTTP_DEFAULTS, HttpServer } from "../../../src/http/server/server.ts";
import { exchange, startServer, type TestServer } from "../../helpers/http/server.ts";

/** A raw connection, and everything it receives until the server closes it. */
function connect(url: string): { socket: net.Socket; received: Promise<string> } {
  const socket = net.connect(Number(new URL(url).port), "127.0.0.1");
  const chunks: Buffer[] = [];
  socket.on("data", (chunk: Buffer) => chunks.push(chunk));
  // A server that closes while the client still sends may reset the connection.
  socket.on("error", () => undefined);
  return { socket, received: once(socket, "close").then(() => Buffer.concat(chunks).toString("latin1")) };
}

describe("limits on requests", () => {
  let server: TestServer;
  before(async () => {
    server = await startServer();
  });
  after(() => server.stop());

  it("query: 8 KiB, above that 400 invalid-parameter", async () => {
    const filler = (length: number) => `?a=${"x".repeat(length - 2)}`;
    expect((await server.send(`/v1/queues${filler(8192)}`)).status).to.equal(200);
    for (const at of ["/v1/queues", "/v1/requests/a", "/healthz"]) {
      const answer = await server.send(at + filler(8193));
      expect([answer.status, answer.json.type], at).to.deep.equal([400, "/problems/invalid-parameter"]);
    }
    const posted = await server.send(`/v1/requests${filler(8193)}`, { method: "POST", body: {} });
    expect(posted.status).to.equal(400);
  });

  it("queue names: 64 characters of a–z 0–9 . _ -", async () => {
    for (const name of ["x".repeat(65), "Default", "a b", "%00", "..%2fdefault", "default%0d%0aX-Evil:1"]) {
      const answer = await server.send(`/v1/queues/${name}`);
      expect(answer.status, name).to.equal(404);
      expect(answer.headers).not.to.have.property("x-evil");
    }
  });
});

describe("names with a meaning in JavaScript", () => {
  const names = ["__proto__", "constructor", "prototype", "toString", "hasOwnProperty", "valueOf"];
  let server: TestServer;
  before(async () => {
    server = await startServer();
  });
  after(() => server.stop());
  afterEach(() => {
    expect(Object.keys(Object.prototype)).to.deep.equal([]);
    expect(({} as Record<string, unknown>).polluted).to.equal(undefined);
  });

  it("are not queues", async () => {
    for (const name of names) {
      for (const at of [`/v1/queues/${name}`, `/v1/queues/${name}/waiting`]) {
        expect((await server.send(at)).json.type, at).to.equal("/problems/unknown-queue");
      }
      expect((await server.post(name, {})).json.type, name).to.equal("/problems/unknown-queue");
      expect((await server.send(`/problems/${name}`)).status, name).to.equal(404);
    }
  });

  it("are ordinary ids if the grammar allows them", async () => {
    for (const name of names) {
      expect((await server.send(`/v1/requests/${name}`)).json.type, name).to.equal("/problems/unknown");
      const answer = await server.send(`/v1/requests/${name}`, { method: "PUT", body: { name } });
      // An id begins with a letter or a digit.
      if (name.startsWith("_")) expect(answer.status).to.equal(400);
      else expect([answer.status, answer.json.input], name).to.deep.equal([200, { name }]);
    }
  });

  it("are ordinary query parameters for the handler", async () => {
    for (const name of names) {
      const answer = await server.send(`/v1/requests?${name}=1&${name}[polluted]=1`, { method: "POST", body: {} });
      expect(answer.status, name).to.equal(200);
      expect(Object.entries(answer.json.query as object), name).to.deep.include([name, "1"]);
    }
  });

  it("are kept unchanged as members of an input", async () => {
    const text =
      '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"a":{"__proto__":{"polluted":1}}}';
    const answer = await server.post("default", text, { "Content-Type": "application/json" });
    expect(answer.text).to.contain(`"input":${text}`);
  });
});

describe("requests that never complete (slowloris)", () => {
  it("have 10 s for the headers and 30 s in total", () => {
    expect(HTTP_DEFAULTS).to.include({ headersMs: 10_000, requestMs: 30_000 });
  });

  describe("with limits a hundredth as long", () => {
    let server: HttpServer;
    let url: string;
    let bodies: Promise<string>;
    before(async () => {
      const app = new Koa();
      app.use(async (ctx) => {
        if (ctx.path !== "/body") {
          ctx.body = "ok";
          return;
        }
        bodies = new Promise((resolve) => ctx.req.once("close", () => resolve("ended")));
        // Never answers: the test is about which side closes.
        await bodies;
      });
      app.on("error", () => undefined);
      const limits = { headersMs: 100, requestMs: 300, checkEveryMs: 20 };
      server = new HttpServer(app, { host: "127.0.0.1", port: 0, limits });
      await server.start();
      url = `http://127.0.0.1:${server.port}`;
    });
    after(() => server.stop());

    it("get 408 and are disconnected if their headers trickle (RFC 9110 §15.5.9)", async () => {
      const { socket, received } = connect(url);
      socket.write("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n");
      const trickle = setInterval(() => socket.write("X-A: b\r\n"), 10);
      const answer = await received;
      clearInterval(trickle);
      expect(answer)
        .to.match(/^HTTP\/1\.1 408 Request Timeout\r\n/)
        .and.match(/Connection: close/i);
    });

    it("are disconnected if their body trickles, and the handler does not keep waiting", async () => {
      const { socket, received } = connect(url);
      socket.write("POST /body HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100000\r\n\r\n");
      const trickle = setInterval(() => socket.write("x"), 10);
      const answer = await received;
      clearInterval(trickle);
      expect(answer).to.match(/^HTTP\/1\.1 408 /);
      expect(await bodies).to.equal("ended");
    });

    it("do not delay other requests", async () => {
      const slow = Array.from({ length: 50 }, () => connect(url));
      for (const { socket } of slow) socket.write("GET / HTTP/1.1\r\n");
      expect((await exchange(new URL("/", url), { contract: false })).text).to.equal("ok");
      const answers = await Promise.all(slow.map(({ received }) => received));
      expect(answers.every((answer) => answer.startsWith("HTTP/1.1 408 "))).to.equal(true);
    });
  });

  it("are distinguished from requests that wait for a task, which may take longer", async () => {
    let answer: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const app = new Koa();
    app.use(async (ctx) => {
      await held;
      ctx.body = "late";
    });
    const limits = { headersMs: 100, requestMs: 100, checkEveryMs: 20 };
    const server = new HttpServer(app, { host: "127.0.0.1", port: 0, limits });
    await server.start();
    try {
      const url = new URL(`http://127.0.0.1:${server.port}/`);
      const waiting = exchange(url, { method: "POST", body: "{}", contract: false });
      // This one started later and was cut off, so the limit has passed for the one that waits.
      const { socket, received } = connect(url.href);
      socket.write("GET / HTTP/1.1\r\n");
      expect(await received).to.match(/^HTTP\/1\.1 408 /);
      answer();
      expect((await waiting).text).to.equal("late");
    } finally {
      answer();
      await server.stop();
    }
  });
});
