import { EventEmitter, once } from "node:events";
import { Server } from "node:http";
import net from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { expect } from "chai";
import Koa from "koa";
import { HTTP_DEFAULTS, HttpServer } from "../../../src/http/server/server.ts";
import { limitUnread } from "../../../src/http/server/unread.ts";
import { closedGate } from "../../helpers/gates.ts";
import { testKeys } from "../../helpers/http/api-keys.ts";
import { type Answer, startServer, type TestServer } from "../../helpers/http/server.ts";
import { eventually } from "../../shared/eventually.ts";

/** Sends a GET, and reads nothing until the test resumes it. */
async function ask(url: string, path: string, headers: Record<string, string> = {}): Promise<net.Socket> {
  const socket = net.connect(Number(new URL(url).port), "127.0.0.1");
  socket.on("error", () => undefined);
  await once(socket, "connect");
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n${lines.join("")}\r\n`);
  return socket;
}

describe("the number of connections (MAX_CONNECTIONS)", () => {
  it("closes those beyond the limit at once, and serves new ones when others have ended", async () => {
    const server = await startServer({ MAX_CONNECTIONS: "2" });
    const open: net.Socket[] = [];
    try {
      for (let n = 0; n < 2; n += 1) {
        const socket = await ask(server.url, "/healthz");
        await once(socket, "data");
        open.push(socket);
      }
      const third = net.connect(Number(new URL(server.url).port), "127.0.0.1");
      third.on("error", () => undefined);
      await once(third, "close");
      expect(third.bytesRead).to.equal(0);
      await eventually(() => server.log.some((line) => String(line.msg).includes("MAX_CONNECTIONS are open")));
      open.shift()?.destroy();
      await eventually(async () => (await server.send("/healthz").catch(() => undefined))?.status === 200);
    } finally {
      for (const socket of open) socket.destroy();
      await server.stop();
    }
  });
});

describe("the streams and long polls of one caller (MAX_STREAMS)", () => {
  const keys = testKeys({ ann: ["submit"], bob: ["submit"] });
  const open: net.Socket[] = [];
  let server: TestServer;
  let id: string;
  const gate = closedGate();

  before(async () => {
    server = await startServer({ ...keys.env, MAX_STREAMS: "2" });
    const answer = await server.post("gated", gate.input, keys.as("ann", { Prefer: "respond-async" }));
    id = answer.json.id;
  });
  after(async () => {
    for (const socket of open) socket.destroy();
    gate.open();
    await server.stop();
  });
  const stream = async (path: string) => {
    const socket = await ask(server.url, path, keys.as("ann"));
    open.push(socket);
    expect(String((await once(socket, "data"))[0])).to.match(/^HTTP\/1.1 200 /);
  };

  it("are counted together for each caller, and get 429 with Retry-After beyond the limit", async () => {
    await stream(`/v1/requests/${id}/events`);
    await stream(`/v1/requests/${id}/events`);
    const etag = String((await server.send(`/v1/requests/${id}/status`, { headers: keys.as("ann") })).headers.etag);
    for (const [path, headers] of [
      [`/v1/requests/${id}/events`, {}],
      [`/v1/requests/${id}/status?onPending=synchronous`, {}],
      [`/v1/requests/${id}/status`, { "If-None-Match": etag, Prefer: "wait=20" }],
    ] as const) {
      const answer = await server.send(path, { headers: keys.as("ann", headers) });
      expect([answer.status, answer.json.type], path).to.deep.equal([429, "/problems/rate-limited"]);
    }
    // Ordinary requests of this caller, and streams of others, are not affected.
    expect((await server.send(`/v1/requests/${id}/status`, { headers: keys.as("ann") })).status).to.equal(202);
    const bobs = await server.post("gated", gate.input, keys.as("bob", { Prefer: "respond-async" }));
    const socket = await ask(server.url, `/v1/requests/${bobs.json.id}/events`, keys.as("bob"));
    open.push(socket);
    expect(String((await once(socket, "data"))[0])).to.match(/^HTTP\/1.1 200 /);
  });

  it("can be opened again when one has ended", async () => {
    open.shift()?.destroy();
    await eventually(async () => {
      const socket = await ask(server.url, `/v1/requests/${id}/events`, keys.as("ann"));
      open.push(socket);
      return String((await once(socket, "data"))[0]).startsWith("HTTP/1.1 200 ");
    });
  });
});

describe("what else holds a request (MAX_STREAMS)", () => {
  const keys = testKeys({ ann: ["submit"], worker: ["work"] });
  let server: TestServer;
  beforeEach(async () => {
    server = await startServer({ ...keys.env, ROLE: "api", REPLICATE: "true", MAX_STREAMS: "2" });
  });
  afterEach(() => server.stop());
  const take = (wait: number) =>
    server.send("/v1/queues/default/leases", {
      method: "POST",
      body: {},
      headers: keys.as("worker", { Prefer: `wait=${wait}` }),
    });
  /** Which of the requests is refused: the others wait, until the work is done. */
  const refusedOf = async (requests: readonly Promise<Answer>[]) => {
    const refused = await Promise.race(requests);
    expect([refused.status, refused.json.type]).to.deep.equal([429, "/problems/rate-limited"]);
    return refused;
  };

  it("includes a worker over HTTP that waits for a task; one that does not wait is answered", async () => {
    const requests = [take(20), take(20), take(20)];
    const refused = await refusedOf(requests);
    expect((await take(0)).status).to.equal(204);
    for (const _ of [1, 2]) await server.post("default", {}, keys.as("ann", { Prefer: "respond-async" }));
    const answers = (await Promise.all(requests)).filter((answer) => answer.status !== refused.status);
    expect(answers.map(({ status }) => status)).to.deep.equal([200, 200]);
    await eventually(async () => (await take(1)).status === 204);
  });

  const REPEATED = {
    submission: (Prefer: string) => server.post("default", 1, keys.as("ann", { "Idempotency-Key": "k", Prefer })),
    prediction: (Prefer: string) =>
      server.send("/replicate/v1/predictions", {
        method: "POST",
        body: { version: "default", input: {} },
        headers: keys.as("ann", { "Idempotency-Key": "p", Prefer }),
      }),
  };
  for (const [name, repeat] of Object.entries(REPEATED)) {
    it(`includes a ${name} that is repeated and waits for the existing task`, async () => {
      await repeat("respond-async");
      const requests = [repeat("wait=20"), repeat("wait=20"), repeat("wait=20")];
      await refusedOf(requests);
      expect((await repeat("respond-async")).status).to.be.oneOf([201, 202]);
      const [lease] = (await take(0)).json.items;
      await server.send(`/v1/leases/${lease.id}/complete`, {
        method: "POST",
        body: { fence: lease.fence, result: 7 },
        headers: keys.as("worker"),
      });
      const statuses = (await Promise.all(requests)).map(({ status }) => status).sort();
      expect(statuses)
        .to.deep.equal([statuses[0], statuses[0], 429])
        .and.satisfy(([first = 0]) => first < 300);
      // One that finds the task ended does not wait, however many do.
      const over = await Promise.all([1, 2, 3, 4].map(() => repeat("wait=20")));
      expect(over.map(({ status }) => status)).to.deep.equal(Array(4).fill(statuses[0]));
    });
  }
});

/** A connection with so much to be read, of which its client reads so much at each look. */
class Connection extends EventEmitter {
  readonly writableLength: number;
  readonly #reads: number;
  #written = 1000;
  looks = 0;
  cut = false;
  constructor(writableLength: number, reads: number) {
    super();
    this.writableLength = writableLength;
    this.#reads = reads;
  }
  get bytesWritten() {
    this.looks += 1;
    this.#written += this.#reads;
    return this.#written;
  }
  destroy() {
    this.cut = true;
    this.emit("close");
  }
}

describe("clients that do not read", () => {
  it("are disconnected within a minute", () => {
    // Node's time limit of a socket begins anew once while data is unsent.
    expect(2 * HTTP_DEFAULTS.unreadMs).to.be.below(60_000);
  });

  it("are disconnected, and their buffered data is freed; not those that read slowly or wait", async () => {
    const app = new Koa();
    let closed: Promise<unknown> | undefined;
    let answer: ((body: string) => void) | undefined;
    app.use(async (ctx) => {
      if (ctx.path === "/large") closed = once(ctx.res, "close");
      if (ctx.path === "/late") {
        ctx.body = await new Promise<string>((resolve) => {
          answer = resolve;
        });
      } else ctx.body = ctx.path === "/small" ? "small" : Buffer.alloc(64 * 1024 ** 2);
    });
    app.on("error", () => undefined);
    const limits = { unreadMs: 200, keepAliveMs: 60_000 };
    const server = new HttpServer(app, { host: "127.0.0.1", port: 0, limits });
    await server.start();
    const url = `http://127.0.0.1:${server.port}`;
    const idle = await ask(url, "/small");
    await once(idle, "data");
    const waiting = await ask(url, "/late");
    const slow = await ask(url, "/slow");
    slow.on("data", () => {
      slow.pause();
      setTimeout(() => slow.resume(), 5);
    });
    const deaf = await ask(url, "/large");
    deaf.pause();
    await eventually(() => closed !== undefined);
    await closed;
    // Nothing is pending for this one, so it stays connected.
    idle.write("GET /small HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
    expect(String((await once(idle, "data"))[0])).to.contain("small");
    answer?.("late");
    expect(String((await once(waiting, "data"))[0])).to.contain("late");
    const { bytesRead } = slow;
    expect(bytesRead).to.be.below(64 * 1024 ** 2);
    await eventually(() => slow.bytesRead > bytesRead);
    for (const socket of [idle, waiting, slow, deaf]) socket.destroy();
    await server.stop();
  });

  it("are disconnected sooner while too much is buffered for all together, those with the most first", async () => {
    const server = new EventEmitter();
    const limits = { lookEveryMs: 5, unreadBytes: 10_000, readBytes: 100 };
    limitUnread(server as Server, limits);
    const [steady, trickling] = [new Connection(8000, 100), new Connection(6000, 1)];
    const [large, small] = [new Connection(7000, 0), new Connection(1500, 0)];
    for (const socket of [steady, trickling, small, large]) server.emit("connection", socket);
    server.emit("listening");
    await eventually(() => steady.looks > 20);
    // 22,500 in all: with the two largest of those who read too little gone it fits.
    expect([steady.cut, large.cut, trickling.cut, small.cut]).to.deep.equal([false, true, true, false]);
    server.emit("close");
  });
});

describe("a stopped HTTP server", () => {
  it("looks for idle connections no more, which would keep its process alive, also if its last one ends between two looks", async () => {
    const look = Server.prototype.closeIdleConnections;
    let looks = 0;
    Server.prototype.closeIdleConnections = function (this: Server) {
      looks += 1;
      look.call(this);
    };
    try {
      const app = new Koa();
      app.use((ctx) => {
        ctx.body = "";
      });
      const server = new HttpServer(app, { host: "127.0.0.1", port: 0 });
      await server.start();
      const client = await ask(`http://127.0.0.1:${server.port}`, "/");
      await once(client, "data");
      const withinMs = 30;
      const stopped = server.stop(withinMs);
      // In one turn of the event loop, the client leaves, the timer of the stop is due, and then the server reads that the client has left.
      setTimeout(() => client.resetAndDestroy(), withinMs - 5);
      setTimeout(() => {
        setImmediate(() => {
          for (const begun = performance.now(); performance.now() < begun + 2 * withinMs; );
        });
      }, withinMs / 3);
      await stopped;
      const before = looks;
      // As long as two further looks would take.
      await delay(2 * HTTP_DEFAULTS.closeEveryMs);
      expect(looks).to.equal(before);
    } finally {
      Server.prototype.closeIdleConnections = look;
    }
  });
});
