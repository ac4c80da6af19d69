import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "chai";
import { type Answer, startServer, type TestServer } from "../../helpers/http/server.ts";

describe("the headers of a result", () => {
  let server: TestServer;
  let dir: string;

  before(async () => {
    dir = await mkdtemp(path.join(tmpdir(), "paihao-headers-"));
    await writeFile(
      path.join(dir, "shaped.ts"),
      `import { defineHandler } from "paihao";
       export const shaped = defineHandler<{ body: string | null; status?: number; headers: [string, string][] }>({
         queue: "shaped",
         run: ({ body, status, headers }) => new Response(body, { status: status ?? 200, headers }),
       });`,
    );
    server = await startServer({ HANDLERS: dir });
  });
  after(async () => {
    await server.stop();
    await rm(dir, { recursive: true });
  });

  type Fields = Readonly<Record<string, string>>;
  /** The answer to whoever waited for the result, and to one who collects it; both must say the same. */
  const answersOf = async (headers: Fields, shape: { body?: string | null; status?: number } = {}) => {
    const waited = await server.post("shaped", { body: "made", ...shape, headers: Object.entries(headers) });
    const collected = await server.send(`/v1/requests/${waited.headers["x-request-id"]}`);
    return [waited, collected];
  };

  const OWN: Fields = {
    location: "/items/7?a=1&b=2",
    link: '</items/8>; rel="next"',
    "last-modified": "Tue, 01 Sep 2026 10:00:00 GMT",
    "content-language": "de",
    "content-disposition": 'attachment; filename="a.csv"',
    "content-encoding": "zstd",
    "retry-after": "7",
    "x-made-up": "grüß",
    "www-authenticate": "Basic",
  };

  it("do not change the bytes: a caller who waits gets those that are collected", async () => {
    for (const body of ["größer als 世界", "", "a".repeat(16_384), "ü".repeat(20_000)]) {
      for (const type of ["text/plain; charset=utf-8", "application/json", "text/html"]) {
        const [waited, collected] = await answersOf({ "content-type": type }, { body });
        expect(waited?.body.toString()).to.equal(body);
        expect(collected?.body.toString()).to.equal(body);
        for (const name of ["content-type", "content-length", "etag", "expires", "content-security-policy"]) {
          expect(waited?.headers[name], name).to.equal(collected?.headers[name]);
        }
      }
    }
  });

  it("are the handler's: Location, Link, Last-Modified, Retry-After and custom ones", async () => {
    for (const answer of await answersOf(OWN, { status: 201 })) {
      expect(answer.status).to.equal(201);
      expect(answer.headers).to.include(OWN);
      expect(answer.text).to.equal("made");
    }
  });

  it("keep every byte above 0x7F, whatever the length of the body", async () => {
    const bytes = Array.from({ length: 128 }, (_, n) => String.fromCharCode(128 + n)).join("");
    const own = Object.fromEntries(Object.keys(OWN).map((name) => [name, `a${bytes}z`]));
    for (const shape of [{ body: "" }, { body: "made" }, { body: "ü".repeat(200_000) }, { body: null, status: 204 }]) {
      for (const { headers } of await answersOf({ ...own, etag: `"${bytes}"` }, shape)) {
        expect(headers).to.include({ ...own, etag: `"${bytes}"` });
      }
    }
  });

  it("have defaults for Expires, Cache-Control and ETag; those of the handler are kept", async () => {
    for (const { headers } of await answersOf({})) {
      expect(headers["cache-control"]).to.match(/^private, max-age=\d+$/);
      expect(headers).to.include.keys("expires", "etag");
    }
    for (const { headers } of await answersOf({ "cache-control": "no-store", etag: 'W/"mine"' })) {
      expect(headers).to.include({ "cache-control": "no-store", etag: 'W/"mine"' });
      expect(headers).to.not.have.property("expires");
    }
    const expires = "Tue, 01 Sep 2026 10:00:00 GMT";
    for (const { headers } of await answersOf({ expires })) {
      expect(headers.expires).to.equal(expires);
      expect(headers).to.not.have.property("cache-control");
      expect(headers).to.have.property("etag");
    }
  });

  it("allow 304 by the handler's ETag and Last-Modified", async () => {
    const [waited] = await answersOf({ etag: '"v1"', "last-modified": OWN["last-modified"] ?? "" });
    const collect = (headers: Fields) => server.send(`/v1/requests/${waited?.headers["x-request-id"]}`, { headers });
    expect((await collect({ "If-None-Match": '"v1"' })).status).to.equal(304);
    expect((await collect({ "If-None-Match": '"v2"' })).status).to.equal(200);
    expect((await collect({ "If-Modified-Since": OWN["last-modified"] ?? "" })).status).to.equal(304);
  });

  it("add the handler's Vary to ours", async () => {
    for (const { headers } of await answersOf({ vary: "Accept-Language, Origin" })) {
      const names = (headers.vary ?? "").split(/, */);
      expect(names).to.include.members(["Prefer", "Accept-Language", "Origin"]);
    }
  });

  const DROPPED: Fields = {
    ...{
      connection: "x-hop",
      "keep-alive": "timeout=99",
      "proxy-authenticate": "Basic",
      te: "trailers",
      upgrade: "h2c",
    },
    ...{ trailer: "x-t", "set-cookie": "a=b", "x-request-id": "forged", "operation-location": "/forged" },
    ...{ "preference-applied": "forged", "idempotent-replayed": "forged", "x-queue-index": "9", "x-queue-eta": "9" },
    ...{ "x-task-state": "forged" },
    ...{ "access-control-allow-origin": "*", ratelimit: "forged", "ratelimit-policy": "forged", server: "forged" },
  };
  for (const [name, value] of Object.entries(DROPPED)) {
    it(`lack headers that a handler must not set: ${name}`, async () => {
      for (const { headers } of await answersOf({ [name]: value })) {
        expect(String(headers[name] ?? "")).to.not.equal(value);
      }
    });
  }

  const policies = ({ headers }: Answer): string[] => String(headers["content-security-policy"] ?? "").split(", ");

  it("sandbox what a browser may render, in addition to the handler's own policy", async () => {
    const rendered = [
      ...["text/html", "TEXT/HTML; charset=utf-8", "image/svg+xml", "application/xhtml+xml", "text/xml", "text/xsl"],
      ...["multipart/x-mixed-replace; boundary=x", "application/json, text/html", "text/plain,text/html"],
    ];
    for (const type of rendered) {
      for (const answer of await answersOf({ "content-type": type, "content-security-policy": "default-src 'self'" })) {
        expect(policies(answer), type).to.deep.equal(["default-src 'self'", "sandbox"]);
      }
      const [bare] = await answersOf({ "content-type": type });
      expect(bare && policies(bare), type).to.deep.equal(["sandbox"]);
    }
    const inert = [
      "application/json",
      "text/plain; charset=utf-8",
      "image/png",
      "application/octet-stream",
      "application/pdf",
    ];
    for (const type of inert) {
      for (const { headers } of await answersOf({ "content-type": type })) {
        expect(headers, type).to.not.have.property("content-security-policy");
      }
    }
  });
});
