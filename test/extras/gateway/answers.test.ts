import { once } from "node:events";
import http from "node:http";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { expect } from "chai";
import type { Answer } from "../../helpers/http/server.ts";
import { type RawUpstream, startGateways, startUpstream, useGateways } from "./gateway.ts";

/** An answer as an API writes it. */
function answer(status: string, headers: Readonly<Record<string, string>>, body: string | Buffer = ""): Buffer {
  const lines = Object.entries({ "Content-Length": String(Buffer.byteLength(body)), ...headers });
  const head = `HTTP/1.1 ${status}\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n`;
  return Buffer.concat([Buffer.from(head, "latin1"), Buffer.from(body)]);
}

describe("the answer of an API behind a gateway", () => {
  const t = useGateways(
    (port) => `export const rw = defineGateway({ queue: "rw", target: "http://127.0.0.1:${port}", attempts: 1 });`,
    { MAX_RESULT: "1mb" },
  );

  let paths = 0;
  /** What a caller gets for it, and what one gets who collects it. */
  const answered = async (raw: Buffer, method = "GET"): Promise<Answer[]> => {
    paths += 1;
    t.upstream.answer(`/${paths}`, raw);
    const waited = await t.server.send(`/v1/gateway/rw/${paths}`, { method });
    return [waited, await t.server.send(`/v1/requests/${waited.headers["x-request-id"]}`)];
  };

  it("keeps Location, ETag, Retry-After and the other headers that describe it, and adds Via", async () => {
    const kept = {
      ...{ location: "/made/7", etag: '"v7"', "retry-after": "9", "last-modified": "Tue, 01 Sep 2026 10:00:00 GMT" },
      ...{ "cache-control": "no-store", link: '</x>; rel="y"', "content-language": "de", "x-upstream": "yes" },
    };
    for (const status of ["201 Created", "302 Found", "503 Busy", "404 Not Found"]) {
      for (const { headers, text, status: seen } of await answered(answer(status, { ...kept, Via: "1.0 fred" }, "b"))) {
        expect(seen).to.equal(Number(status.slice(0, 3)));
        expect(headers).to.include({ ...kept, via: "1.0 fred, 1.1 paihao" });
        expect(text).to.equal("b");
      }
    }
  });

  it("keeps every byte of its headers, as the API gets those of the request", async () => {
    const value = `attachment; filename="${Buffer.from(Array.from({ length: 128 }, (_, n) => 128 + n)).toString("latin1")}"`;
    const headers = { "content-disposition": value, "x-own": value };
    for (const body of ["", "b"]) {
      for (const seen of await answered(answer("200 OK", headers, body))) expect(seen.headers).to.include(headers);
      const path = `/sent${body}`;
      t.upstream.answer(path, answer("200 OK", {}, "ok"));
      // Node's own client would change them.
      const lines = Object.entries({ host: "h", connection: "close", "content-length": body.length, ...headers });
      const head = lines.map(([name, line]) => `${name}: ${line}\r\n`).join("");
      await t.server.raw(`POST /v1/gateway/rw${path} HTTP/1.1\r\n${head}\r\n${body}`);
      const sent = Object.fromEntries(t.upstream.to(path)[0]?.fields ?? []);
      expect(sent).to.include(headers);
    }
  });

  const DROPPED = {
    ...{ Refresh: "0; url=//evil", "Clear-Site-Data": '"*"', "Service-Worker-Allowed": "/", "Alt-Svc": 'h3=":1"' },
    ...{ "Strict-Transport-Security": "max-age=9", "Access-Control-Allow-Origin": "*", "Set-Cookie": "a=b" },
    ...{ "Access-Control-Allow-Credentials": "true", "Proxy-Authenticate": "Basic", NEL: "{}", "Report-To": "{}" },
    ...{ "X-Accel-Redirect": "/etc/passwd", "X-Sendfile": "/etc/passwd", "X-Task-State": "forged" },
    ...{ "X-Request-Id": "forged", "Idempotent-Replayed": "forged", Upgrade: "h2c", Trailer: "x" },
  };
  it("lacks what is not the API's to say, and the headers that its Connection names", async () => {
    const more = { Connection: "keep-alive ,\tX-Hop", "X-Hop": "1", "X-End": "2" };
    for (const { headers } of await answered(answer("200 OK", { ...DROPPED, ...more }, "x"))) {
      expect(headers).to.include({ "x-end": "2" }).and.not.have.property("x-hop");
      for (const [name, value] of Object.entries(DROPPED)) {
        expect(String(headers[name.toLowerCase()] ?? ""), name).to.not.equal(value);
      }
    }
  });

  it("gets a second, sandboxing policy beside its own if a browser may render it", async () => {
    const own = { "Content-Type": "text/html", "Content-Security-Policy": "script-src *" };
    for (const { headers } of await answered(answer("200 OK", own, "<script>"))) {
      expect(headers["content-security-policy"]).to.equal("script-src *, sandbox");
    }
    for (const { headers } of await answered(answer("200 OK", {}, "<script>"))) {
      expect(headers["x-content-type-options"]).to.equal("nosniff");
      expect(headers["content-type"]).to.equal("application/octet-stream");
    }
  });

  it("keeps its Content-Encoding and its encoded bytes", async () => {
    // Zstandard's magic number, and a body that nobody here could decode.
    const zstd = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 1, 2, 3]);
    const bodies = { zstd, br: brotliCompressSync("text"), gzip: gzipSync("text"), "x-own, gzip": Buffer.from("odd") };
    for (const [coding, body] of Object.entries(bodies)) {
      for (const seen of await answered(answer("200 OK", { "Content-Encoding": coding }, body))) {
        expect(seen.headers["content-encoding"], coding).to.equal(coding);
        expect(seen.body.equals(body), coding).to.equal(true);
      }
    }
  });

  it("is never decompressed: a bomb of 64 MB in 64 kB is a result of 64 kB", async () => {
    const bomb = gzipSync(Buffer.alloc(64 * 1024 ** 2));
    for (const seen of await answered(answer("200 OK", { "Content-Encoding": "gzip" }, bomb))) {
      expect(seen.body.equals(bomb)).to.equal(true);
    }
  });

  it("is read no further than MAX_RESULT, and its connection is closed", async () => {
    let written = 0;
    const closed = new Promise<void>((resolve) => {
      t.upstream.answer("/endless", (socket) => {
        socket.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
        const chunk = Buffer.alloc(65_536, "x");
        const write = (): void => {
          written += chunk.length;
          socket.write(`${chunk.length.toString(16)}\r\n`);
          socket.write(chunk);
          if (!socket.destroyed && socket.write("\r\n")) setImmediate(write);
        };
        socket.on("drain", write);
        socket.on("close", () => resolve());
        write();
      });
    });
    const seen = await t.server.send("/v1/gateway/rw/endless");
    expect(seen.status).to.equal(500);
    expect(seen.json.detail).to.contain("MAX_RESULT");
    await closed;
    expect(written).to.be.below(16 * 1024 ** 2);
  });

  it("to HEAD has the length of the API's answer, or none", async () => {
    const [told, collected] = await answered(answer("200 OK", { "Content-Length": "1234", "X-A": "1" }), "HEAD");
    expect(told?.headers).to.include({ "content-length": "1234", "x-a": "1" });
    expect([collected?.status, collected?.text]).to.deep.equal([200, ""]);
    expect(collected?.headers).to.include({ "content-length": "0", "x-a": "1" });
    const head = await t.server.send(`/v1/requests/${told?.headers["x-request-id"]}`, { method: "HEAD" });
    expect(head.headers, "as GET of the same resource").to.include({ "content-length": "0", "x-a": "1" });
    const chunked = Buffer.from("HTTP/1.1 404 No\r\nTransfer-Encoding: chunked\r\nX-A: 1\r\n\r\n");
    const [untold] = await answered(chunked, "HEAD");
    expect(untold?.status).to.equal(404);
    expect(untold?.headers).to.include({ "x-a": "1" });
    expect(untold?.headers).to.not.have.any.keys("content-length", "transfer-encoding");
  });

  it("may be one without a body by its status", async () => {
    for (const status of ["204 No Content", "304 Not Modified"]) {
      const raw = Buffer.from(`HTTP/1.1 ${status}\r\nETag: "x"\r\n\r\n`);
      for (const seen of await answered(raw)) {
        expect([seen.status, seen.text]).to.deep.equal([Number(status.slice(0, 3)), ""]);
        expect(seen.headers.etag).to.equal('"x"');
      }
    }
  });

  it("reuses a connection for requests that may be sent twice, even if it was closed meanwhile", async () => {
    const sockets: object[] = [];
    const api = http.createServer((_, res) => res.end("ok"));
    api.on("connection", (socket) => sockets.push(socket));
    api.listen(0, "127.0.0.1");
    await once(api, "listening");
    const { port } = api.address() as { port: number };
    const again = await startGateways(
      `export const keep = defineGateway({ queue: "keep", target: "http://127.0.0.1:${port}", attempts: 1 });`,
    );
    try {
      for (let i = 0; i < 3; i += 1) expect((await again.send("/v1/gateway/keep/x")).text).to.equal("ok");
      expect(sockets).to.have.length(1);
      for (let i = 0; i < 3; i += 1) {
        api.closeIdleConnections();
        expect((await again.send("/v1/gateway/keep/x")).text).to.equal("ok");
      }
      for (let i = 0; i < 2; i += 1) await again.send("/v1/gateway/keep/x", { method: "POST", body: "x" });
      expect(sockets.length).to.be.within(4, 6);
    } finally {
      await again.stop();
      api.close();
    }
  });

  it("comes from any port, also from one that browsers block", async () => {
    const blocked = [10080, 6667, 6000, 5061];
    let api: RawUpstream | undefined;
    for (const port of blocked) api ??= await startUpstream(port).catch(() => undefined);
    // All of them are taken on this machine: nothing to see.
    if (api === undefined) return;
    const gateway = await startGateways(
      `export const odd = defineGateway({ queue: "odd", target: "http://127.0.0.1:${api.port}", attempts: 1 });`,
    );
    expect((await gateway.send("/v1/gateway/odd/x")).text).to.equal("ok");
    await gateway.stop();
    await api.close();
  });
});
