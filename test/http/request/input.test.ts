import { expect } from "chai";
import { startServer, type TestServer } from "../../helpers/http/server.ts";

describe("the input of a submission", () => {
  let server: TestServer;
  before(async () => {
    server = await startServer({ MAX_BODY: "64kb" });
  });
  after(() => server.stop());
  const send = (body: unknown, type?: string, queue = "default") =>
    server.send(`/v1/queues/${queue}/requests`, {
      method: "POST",
      headers: type === undefined ? {} : { "Content-Type": type },
      body,
    });

  it("is refused with a pointer to each wrong value, in the form of RFC 9457 §3", async () => {
    const answer = await send({ width: 0, "a/b~c": 1, tags: [{ ünï: "ok" }, { ünï: 2 }] }, undefined, "checked");
    expect(answer.status).to.equal(400);
    expect(answer.json).to.include({ type: "/problems/invalid-input", status: 400 });
    const pointers = answer.json.errors.map((error: { pointer: string }) => error.pointer);
    // RFC 6901 §6: a URI fragment, with ~ and / escaped and non-ASCII percent-encoded.
    expect(pointers).to.have.members(["#/width", "#/a~1b~0c", "#/tags/1/%C3%BCn%C3%AF"]);
    for (const error of answer.json.errors) expect(error.detail).to.be.a("string").and.not.equal("");
    expect(answer.json.detail).to.contain("#/width");
  });

  it("is refused with the pointer of the document if it is of another type", async () => {
    const answer = await send([1], undefined, "checked");
    expect(answer.json.errors[0].pointer).to.equal("#");
    expect((await send({ width: 5 }, undefined, "checked")).json).to.deep.equal({ width: 5 });
    expect((await send('\ufeff{"width":5}', undefined, "checked")).json, "a byte-order mark").to.deep.equal({
      width: 5,
    });
  });

  it("is checked before anything is stored", async () => {
    const answer = await server.post("checked", { width: 0 }, { "X-Request-Id": "refused" });
    expect(answer.headers["x-request-id"]).to.equal("refused");
    expect((await server.send("/v1/requests/refused")).json.type).to.equal("/problems/unknown");
    expect((await server.post("checked", { width: 1 }, { "X-Request-Id": "refused" })).status).to.equal(200);
  });

  it("is refused as malformed if it is not JSON (RFC 8259)", async () => {
    const bodies = [
      ...[
        "",
        " ",
        "{",
        '{"a":1,}',
        "{'a':1}",
        "NaN",
        '{"n":NaN}',
        "Infinity",
        "undefined",
        "01",
        '"\t"',
        "1 2",
        "\ufeff",
        "\ufeff\ufeff1",
        "1\ufeff",
      ],
      ...[Buffer.from([0x22, 0xff, 0x22]), Buffer.from("\ufeff{}", "utf16le"), Buffer.from([0])],
    ];
    for (const body of bodies) {
      const answer = await send(body, "application/json");
      expect(answer.status, String(body)).to.equal(400);
      expect(answer.json, String(body)).to.include({ type: "/problems/malformed-json", status: 400 });
      expect(answer.json.detail).to.be.a("string");
    }
  });

  it("may be nested 64 levels deep, but not deeper", async () => {
    const nested = (levels: number) => "[".repeat(levels) + "]".repeat(levels);
    expect((await send(nested(64))).status).to.equal(200);
    for (const body of [nested(65), `${'{"a":'.repeat(65)}1${"}".repeat(65)}`, nested(30_000)]) {
      expect((await send(body)).json).to.include({ type: "/problems/malformed-json", status: 400 });
    }
  });

  it("is read as JSON if the request has no media type", async () => {
    expect((await send('{"a":1}')).json.input).to.deep.equal({ a: 1 });
    expect((await send("1", "APPLICATION/JSON ; charset=UTF-8")).json.input).to.equal(1);
  });

  it("is 415 in a media type, charset or encoding that the queue does not accept, and names it", async () => {
    for (const type of [
      "text/plain",
      "application/xml",
      "image/png",
      "",
      "json",
      'application/json; charset="utf-16"',
    ]) {
      const answer = await send("1", type);
      expect(answer.status, type).to.equal(415);
      expect(answer.json).to.deep.include({ type: "/problems/unsupported-media-type", accepts: ["application/json"] });
      // RFC 9110 §15.5.16: a 415 may say in Accept what would have been taken.
      expect(answer.headers.accept).to.equal("application/json");
    }
    const zipped = await server.send("/v1/requests", {
      method: "POST",
      headers: { "Content-Encoding": "gzip" },
      body: 1,
    });
    expect(zipped.status).to.equal(415);
    // RFC 9110 §12.5.3: in Accept-Encoding it says which codings would have been taken.
    expect(zipped.headers["accept-encoding"]).to.equal("identity");
    expect(zipped.headers).not.to.have.property("accept");
  });

  it("is raw bytes for a handler that takes another media type", async () => {
    const answer = await server.send("/v1/queues/images/requests?width=10", {
      method: "POST",
      headers: { "Content-Type": "image/PNG" },
      body: Buffer.from([0, 255, 128]),
    });
    expect(answer.json).to.deep.equal({ length: 3, mediaType: "image/png", query: { width: "10" } });
    expect((await send("1", "application/json", "images")).status).to.equal(415);
  });

  it("is 413 above MAX_BODY, by its Content-Length or while it arrives", async () => {
    const large = Buffer.alloc(5 * 1024 * 1024, "1");
    const told = await send(large, "application/json");
    const found = await server.send("/v1/requests", { method: "POST", chunks: [large, large] });
    for (const answer of [told, found]) {
      expect(answer.status).to.equal(413);
      expect(answer.json).to.include({ type: "/problems/payload-too-large", status: 413 });
    }
    expect((await send(`"${"x".repeat(65_534)}"`)).status, "just at the limit").to.equal(200);
    expect((await send(`"${"x".repeat(65_535)}"`)).status, "one byte above it").to.equal(413);
    expect((await server.send("/v1/requests", { method: "POST", chunks: ["[1", ",2]"] })).json.input).to.deep.equal([
      1, 2,
    ]);
  });

  it("keeps every character and every number as it was sent", async () => {
    const input = { "grüße\u0000": "世界 🎫 \ud83c\udfab \u2028", n: [1e-7, 9_007_199_254_740_991, -0.5], "": {} };
    expect((await send(input)).json.input).to.deep.equal(input);
  });

  it("comes with the query parameters that are not the server's", async () => {
    const answer = await server.send("/v1/requests?a=1&b=%C3%BC&maxIndex=5&delay=0", { method: "POST", body: 1 });
    expect(answer.json.query).to.deep.equal({ a: "1", b: "ü" });
  });
});
