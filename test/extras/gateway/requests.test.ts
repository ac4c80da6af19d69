import { expect } from "chai";
import { field, useGateways } from "./gateway.ts";

describe("a request that a gateway forwards", () => {
  const t = useGateways(
    (port) => `export const rw = defineGateway({ queue: "rw", target: "http://127.0.0.1:${port}/api/", attempts: 1 });
       export const root = defineGateway({ queue: "root", target: "http://127.0.0.1:${port}", attempts: 1 });`,
  );

  /** What the API was sent for a request as raw text. */
  const forwarded = async (text: string) => {
    const before = t.upstream.requests.length;
    const answer = await t.server.raw(text);
    return { answer, request: t.upstream.requests[before], count: t.upstream.requests.length - before };
  };

  it("has only the fields that the caller sent, and Host, Via, X-Request-Id and X-Forwarded-*", async () => {
    const { request } = await forwarded(
      "GET /v1/gateway/rw/plain HTTP/1.1\r\nHost: shop.example:81\r\nX-Mine: \xfc\r\nConnection: close\r\n\r\n",
    );
    const fields = Object.fromEntries(request?.fields ?? []);
    expect(fields).to.have.all.keys(
      ...["host", "connection", "x-mine", "via", "x-request-id"],
      ...["x-forwarded-for", "x-forwarded-proto", "x-forwarded-host"],
    );
    expect(fields).to.include({
      host: `127.0.0.1:${t.upstream.port}`,
      "x-mine": "\xfc",
      via: "1.1 paihao",
      "x-forwarded-for": "127.0.0.1",
      "x-forwarded-proto": "http",
      "x-forwarded-host": "shop.example:81",
    });
  });

  it("extends Via, and keeps the caller's Accept fields and Idempotency-Key", async () => {
    const { request } = await forwarded(
      "POST /v1/gateway/rw/via HTTP/1.0\r\nHost: h\r\nVia: 1.0 fred\r\nAccept-Encoding: zstd;q=1, br\r\nIdempotency-Key: k1\r\nUser-Agent: me\r\n\r\n",
    );
    expect(request && field(request, "via")).to.equal("1.0 fred, 1.0 paihao");
    expect(request && field(request, "accept-encoding")).to.equal("zstd;q=1, br");
    expect(request && field(request, "idempotency-key")).to.equal("k1");
    expect(request && field(request, "user-agent")).to.equal("me");
    expect(request && field(request, "content-length")).to.equal("0");
  });

  const WITHHELD = [
    ...["Proxy-Authorization: Basic x", "TE: trailers", "Trailer: x", "Keep-Alive: timeout=9"],
    ...["Proxy-Connection: keep-alive", "Upgrade: h2c", "Forwarded: for=9.9.9.9", "X-Forwarded-For: 9.9.9.9"],
    ...["X-Forwarded-Host: evil", "X-Forwarded-Proto: https", "X-Forwarded-Prefix: /x", "X-Real-IP: 9.9.9.9"],
    ...["X-Original-URL: /admin", "X-Rewrite-URL: /admin", "X-Http-Method: DELETE", "X-Method-Override: DELETE"],
    ...["Prefer: wait=20", "Priority: u=1", "Cancel-After: 60", "Expect: 100-continue"],
  ];
  it("lacks what is between the caller and this server", async () => {
    for (const line of WITHHELD) {
      const { request, count } = await forwarded(
        `GET /v1/gateway/rw/withheld HTTP/1.1\r\nHost: h\r\n${line}\r\nConnection: close\r\n\r\n`,
      );
      const [name = "", value = ""] = line.split(": ");
      expect(count, line).to.equal(1);
      expect(request && field(request, name.toLowerCase()), line).to.not.equal(value);
    }
  });

  it("lacks the fields that Connection names, in any case and spacing, but keeps those of the server", async () => {
    const { request } = await forwarded(
      "GET /v1/gateway/rw/named HTTP/1.1\r\nHost: h\r\nX-A: 1\r\nX-B: 2\r\nX-C: 3\r\nConnection: close,\t X-A ,x-b,X-Forwarded-For,via\r\n\r\n",
    );
    expect(request?.fields.map(([name]) => name)).to.include.members(["x-c", "x-forwarded-for", "via"]);
    expect(request?.fields.map(([name]) => name)).to.not.include.members(["x-a", "x-b"]);
  });

  it("is parsed in linear time, even with a Connection of 15,000 tabs", async () => {
    const started = performance.now();
    for (let i = 0; i < 20; i += 1) {
      const tabs = "\t".repeat(15_000);
      const { count } = await forwarded(
        `GET /v1/gateway/rw/tabs HTTP/1.1\r\nHost: h\r\nConnection: close, a${tabs}b\r\n\r\n`,
      );
      expect(count).to.equal(1);
    }
    // It was 0.8 s for each of them.
    expect(performance.now() - started).to.be.below(8000);
  });

  it("keeps path and query byte for byte", async () => {
    const target = "//a//b;p=1/%7Euser/%e2%82%ac/x%2Fy/.../.a?b=%20+&&c==d&e=/../..&f=%";
    const { request, answer } = await forwarded(
      `GET /v1/gateway/rw${target} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n`,
    );
    expect(request?.line, answer).to.equal(`GET /api${target} HTTP/1.1`);
    const wide = ["/%ef%bc%91%ef%bc%8e.pdf", "/a%ef%bc%8fb", "/%e2%80%a6", "/%e2%84%80", "/%bd", "/%u00e9%uff0e"];
    for (const odd of ["/100%", "/%ff", "/a%zzb", "/%", "/:x/*y/{z}", ...wide]) {
      const { request: seen, answer: said } = await forwarded(
        `GET /v1/gateway/rw${odd} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n`,
      );
      expect(seen?.line, said).to.equal(`GET /api${odd} HTTP/1.1`);
    }
    const root = await forwarded("GET /v1/gateway/root?x HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
    expect(root.request?.line).to.equal("GET /?x HTTP/1.1");
  });

  it("keeps the path of an absolute-form target", async () => {
    for (const authority of ["http://x", "HTTP://user@x:81", "https://[::1]"]) {
      const { request } = await forwarded(
        `DELETE ${authority}/v1/gateway/rw/items/5?a=b HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
      );
      expect(request?.line, authority).to.equal("DELETE /api/items/5?a=b HTTP/1.1");
    }
  });

  it("may have a body with any method, including GET and HEAD", async () => {
    for (const method of ["GET", "HEAD", "DELETE", "POST", "PUT", "PATCH"]) {
      const { request } = await forwarded(
        `${method} /v1/gateway/rw/body HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nConnection: close\r\n\r\na\xffb`,
      );
      expect(request?.line, method).to.equal(`${method} /api/body HTTP/1.1`);
      expect(request?.body, method).to.equal("a\xffb");
    }
  });

  const DOTS = [
    ...["/..%2fadmin", "/%2e%2e/admin", "/.%2E/admin", "/..%5cadmin", "/..\\admin", "/a/..;/..;x=1/admin", "/..;"],
    ...["/%2e%2e%2fadmin", "/%252e%252e%252fadmin", "/..%252fadmin", "/%25252e%25252e/x", "/a%2f..%2f..%2fx", "/../x"],
    ...["/a/../../x", "/..%00/x", "/..%20/x", "/%c0%ae%c0%ae%c0%afx", "/..%c0%afx", "/%u002e%u002e/x", "/..%3fx/y"],
    ...["/x%2fy%2fz/../..%2f..", "/...%2f..", "/%2525252525252e%2525252525252e/x", "/..%0d%0a/x", "/a#/../.."],
    // Full-width and other forms of dots and slashes, as UTF-8, as bytes, double-encoded, or as %u…; overlong; with what is ignored.
    ...[
      "/%ef%bc%8e%ef%bc%8e/x",
      "/%EF%BC%8E./x",
      "/..%ef%bc%8fx",
      "/..%ef%bc%bcx",
      "/%e2%80%a4%e2%80%a4/x",
      "/%e2%80%a5/x",
    ],
    ...["/%25ef%25bc%258e%25ef%25bc%258e/x", "/%ef%b9%92%ef%b9%92/x", "/..%ef%b9%a8x"],
    ...["/..%e2%88%95x", "/..%e2%81%84x", "/..%e2%88%96x", "/%u2025/x", "/%u2024%uff0e/x", "/%ef%bc%852e%ef%bc%852e/x"],
    ...["/%f0%80%80%ae%f0%80%80%ae/x", "/%e3%80%82%ef%bd%a1/x", "/..%ef%bc%9bx/y", "/..%e3%80%80/x", "/.%e2%80%8b./x"],
  ];
  it("is refused with 400 if a lenient server would leave the target", async () => {
    for (const target of DOTS) {
      const { answer, count } = await forwarded(
        `GET /v1/gateway/rw${target} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n`,
      );
      expect(answer, target).to.match(/^HTTP\/1.1 400 [\s\S]*"\/problems\/invalid-parameter"/);
      expect(count, target).to.equal(0);
    }
  });

  describe("sent again under its Idempotency-Key", () => {
    const send = (headers: Readonly<Record<string, string>>, body = "x") =>
      t.server.send("/v1/gateway/rw/again", { method: "POST", body, headers });

    it("is a replay even with another traceparent, and the first one's is forwarded", async () => {
      const tracing = [
        ...["traceparent", "tracestate", "baggage", "x-b3-traceid", "x-request-id", "via", "x-forwarded-for"],
      ];
      const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
      const first = await send({ "Idempotency-Key": "t1", traceparent, "x-request-id": "first" });
      expect(first.status).to.equal(200);
      for (const name of tracing) {
        const again = await send({ "Idempotency-Key": "t1", traceparent, [name]: "other" });
        expect(again.status, name).to.equal(200);
        expect(again.headers["idempotent-replayed"]).to.equal("true");
      }
      expect(t.upstream.to("/api/again")).to.have.length(1);
      expect(t.upstream.to("/api/again").map((request) => field(request, "traceparent"))).to.deep.equal([traceparent]);
    });

    it("is 422 with another body, path or header", async () => {
      expect((await send({ "Idempotency-Key": "t2", "X-Mine": "1" })).status).to.equal(200);
      expect((await send({ "Idempotency-Key": "t2", "X-Mine": "1" }, "y")).status).to.equal(422);
      expect((await send({ "Idempotency-Key": "t2", "X-Mine": "2" })).status).to.equal(422);
      const elsewhere = { method: "POST", body: "x", headers: { "Idempotency-Key": "t2", "X-Mine": "1" } };
      expect((await t.server.send("/v1/gateway/rw/elsewhere", elsewhere)).status).to.equal(422);
    });
  });
});
