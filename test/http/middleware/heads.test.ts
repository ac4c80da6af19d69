import { once } from "node:events";
import net from "node:net";
import { expect } from "chai";
import { testKeys } from "../../helpers/http/api-keys.ts";
import { raw, rawAnswer } from "../../helpers/http/raw.ts";
import { startServer, type TestServer } from "../../helpers/http/server.ts";

describe("the head of a request", () => {
  const keys = testKeys({ ann: ["submit"] });
  const { Authorization } = keys.as("ann");
  let server: TestServer;
  before(async () => {
    // With keys any Host is served.
    server = await startServer({ TRUST_PROXY: "true", MAX_BODY: "64kb", ...keys.env });
  });
  after(() => server.stop());
  const asked = async (head: string, body = "") => {
    const bytes = `${head}\r\nAuthorization: ${Authorization}\r\nConnection: close\r\n\r\n${body}`;
    return rawAnswer(await raw(server.url, bytes));
  };
  const problem = ({ body }: { body: string }) => JSON.parse(body) as Record<string, unknown>;

  it("has exactly one Host: none or two are 400 (RFC 9112 §3.2)", async () => {
    for (const hosts of ["", "\r\nHost: a\r\nHost: a", "\r\nHost: a\r\nX: y\r\nhOST: b"]) {
      const answer = await asked(`GET /v1/queues HTTP/1.1${hosts}`);
      expect(answer.status, hosts).to.equal(400);
      expect(problem(answer)).to.include({ type: "/problems/invalid-parameter", parameter: "Host" });
    }
    expect((await asked("GET /v1/queues HTTP/1.0")).status).to.equal(200);
    expect((await asked("GET /v1/queues HTTP/1.1\r\nHost: ")).status).to.equal(200);
  });

  it("has its Host repeated in links only if it is valid", async () => {
    const location = async (host: string, more = "", target = "/v1/requests") => {
      const head = `POST ${target} HTTP/1.1\r\nHost: ${host}${more}\r\nPrefer: respond-async\r\nContent-Length: 1`;
      const { status, headers } = await asked(head, "1");
      expect(status, host).to.equal(202);
      return (headers["operation-location"] ?? "").replace(/\/v1\/requests.*$/, "");
    };
    for (const host of ["a", "tasks.example:80", "[::1]:3000", "127.0.0.1", "my_service:3000"]) {
      expect(await location(host)).to.equal(`http://${host}`);
    }
    for (const host of [
      ...['"><script>', "a b", "a@b", "evil.example/x", "a?b", "a#b", "[::1", "[zz]", "a:99999", "a:b", "a\\b", "a,b"],
      ...["", "'", "%0d%0a", "x".repeat(300), ":80", "-", "é"],
    ]) {
      expect(await location(host), host).to.equal("");
    }
    // The same check applies to what a trusted proxy forwards; if that is invalid, the Host is used.
    const forwarded = (host: string, proto: string) =>
      location("ours", `\r\nX-Forwarded-Host: ${host}\r\nX-Forwarded-Proto: ${proto}`);
    expect(await forwarded("tasks.example, proxy", "HTTPS, http")).to.equal("https://tasks.example");
    expect(await forwarded("<evil>", "javascript")).to.equal("http://ours");
    expect(await forwarded("tasks.example", "https://evil/?")).to.equal("http://tasks.example");
    // RFC 9112 §3.2.2: with a target in absolute form, its host is used.
    expect(await location("x", "", "http://other.example:1/v1/requests")).to.equal("http://other.example:1");
    expect(await location("x", "", "http://a@other/v1/requests")).to.equal("");
  });

  it("can have 1,000 fields: more are 431, and none is silently dropped", async () => {
    // The last field decides.
    const head = (fields: number) =>
      `POST /v1/requests HTTP/1.1\r\nHost: x\r\n${"a:\r\n".repeat(fields - 5)}Content-Length: 1\r\nPrefer: respond-async`;
    expect((await asked(head(1000), "1")).status).to.equal(202);
    const answer = await asked(head(1001), "1");
    expect(answer.status).to.equal(431);
    expect(problem(answer)).to.include({ type: "about:blank", status: 431 });
    expect((await asked(head(3500), "1")).status).to.equal(431);
    expect((await asked(head(10_000), "1")).status).to.equal(431);
  });

  it("can have 16 KiB of fields: more are 431 (RFC 6585 §5)", async () => {
    for (const length of [16_400, 40_000, 60_000, 1_000_000]) {
      const answer = await asked(`GET /v1/queues HTTP/1.1\r\nHost: x\r\nX: ${"x".repeat(length)}`);
      expect(answer.status, String(length)).to.equal(431);
      expect(problem(answer)).to.include({
        type: "about:blank",
        title: "Request Header Fields Too Large",
        status: 431,
      });
    }
  });

  it("can have a target of 16 KiB: more is 414 (RFC 9110 §15.5.15)", async () => {
    expect((await asked(`GET /${"x".repeat(16_383)} HTTP/1.1\r\nHost: x`)).status).to.equal(404);
    for (const length of [16_384, 40_000, 60_000, 1_000_000]) {
      const answer = await asked(`GET /${"x".repeat(length)} HTTP/1.1\r\nHost: x`);
      expect(answer.status, String(length)).to.equal(414);
      expect(problem(answer)).to.include({ type: "/problems/uri-too-long", status: 414 });
    }
  });

  it("gets 400 if it cannot be parsed, as a problem document with nosniff", async () => {
    for (const bytes of [
      "BLAH / HTTP/1.1\r\nHost: x\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: x\r\nA\u0000: b\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: x\r\nA : b\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: x\r\n A: b\r\n\r\n",
      "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx",
      "\u0016\u0003\u0001 TLS",
    ]) {
      const answer = rawAnswer(await raw(server.url, bytes));
      expect(answer.status, bytes).to.equal(400);
      expect(answer.headers).to.include({ connection: "close" });
      expect(problem(answer)).to.include({ type: "/problems/invalid-parameter", status: 400 });
    }
  });

  it("that cannot be parsed is answered after the earlier requests on the connection", async () => {
    const text = await raw(server.url, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\nGET / NONSENSE\r\n\r\n");
    const [first = "", second = "", ...rest] = text.split(/(?=HTTP\/1\.1 \d)/);
    expect(first)
      .to.match(/^HTTP\/1\.1 200 /)
      .and.contain('"status":"ok"');
    expect(second)
      .to.match(/^HTTP\/1\.1 400 /)
      .and.match(/^Connection: close/m);
    expect(rest).to.deep.equal([]);
  });

  it("of OPTIONS * is answered for the server as a whole (RFC 9110 §9.3.7)", async () => {
    const answer = await asked("OPTIONS * HTTP/1.1\r\nHost: x");
    expect(answer.status).to.equal(204);
    expect(answer.headers.allow).to.equal("GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS");
    expect((await asked("GET * HTTP/1.1\r\nHost: x")).status).to.equal(404);
  });

  describe("that expects 100 Continue (RFC 9110 §10.1.1)", () => {
    /** What is received before any of the body is sent, and in all. */
    const expecting = async (fields: string, path = "/v1/requests") => {
      const socket = net.connect(Number(new URL(server.url).port), "127.0.0.1");
      socket.on("error", () => undefined);
      const received: string[] = [];
      socket.on("data", (data) => received.push(data.toString("latin1")));
      socket.write(
        `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: ${Authorization}\r\nExpect: 100-continue\r\n${fields}\r\n\r\n`,
      );
      await once(socket, "data");
      const first = received.join("");
      if (first.startsWith("HTTP/1.1 100 ")) {
        socket.write('{"a":1}');
        await once(socket, "data");
        socket.destroy();
      } else {
        await once(socket, "close");
      }
      return { first, all: received.join("") };
    };

    it("gets a 413 or 415 before its body is sent, and the connection ends", async () => {
      for (const [fields, status] of [
        ["Content-Length: 70000", 413],
        ["Content-Length: 7\r\nContent-Type: text/plain", 415],
        ["Content-Length: 7\r\nContent-Encoding: gzip", 415],
      ] as const) {
        const { all } = await expecting(fields);
        expect(all, fields)
          .to.match(new RegExp(`^HTTP/1\\.1 ${status} `))
          .and.match(/^Connection: close/im);
        expect(all).not.to.contain(" 100 ");
      }
      expect((await expecting("Content-Length: 7", "/v1/queues/none/requests")).all).to.match(/^HTTP\/1\.1 404 /);
      expect((await expecting("Content-Length: 7", "/v1/requests?delay=x")).all).to.match(/^HTTP\/1\.1 400 /);
    });

    it("is handled as any other if it expects something else", async () => {
      expect((await asked("GET /v1/queues HTTP/1.1\r\nHost: x\r\nExpect: nonsense")).status).to.equal(200);
    });

    it("gets 100 Continue if only its body is missing", async () => {
      const { first, all } = await expecting("Content-Length: 7\r\nPrefer: respond-async");
      expect(first).to.match(/^HTTP\/1\.1 100 Continue\r\n\r\n/);
      expect(all)
        .to.match(/HTTP\/1\.1 202 Accepted/)
        .and.match(/^Connection: keep-alive/im);
      const batch = await expecting(
        "Content-Length: 7\r\nContent-Type: application/x-ndjson",
        "/v1/queues/default/batches",
      );
      expect(batch.first).to.match(/^HTTP\/1\.1 100 Continue\r\n\r\n/);
    });
  });
});
