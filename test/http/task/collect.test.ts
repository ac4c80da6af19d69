import { expect } from "chai";
import { type Answer, startServer, type TestServer } from "../../helpers/http/server.ts";

describe("collecting: GET /v1/requests/{id}", () => {
  let server: TestServer;
  before(async () => {
    server = await startServer();
  });
  after(() => server.stop());
  const get = (id: string, search = "", headers: Record<string, string> = {}, method = "GET") =>
    server.send(`/v1/requests/${id}${search}`, { method, headers });
  const made = async (queue: string, input: unknown, state = "succeeded") => {
    const id = await server.enqueue(queue, input);
    await server.until(id, state);
    return id;
  };
  const result = async (kind: string) => get(await made("answers", { kind }));

  it("returns each kind of result as the handler made it", async () => {
    const expectations: Record<string, (answer: Answer) => void> = {
      null: (a) => expect(a.json).to.equal(null),
      text: (a) => {
        expect(a.text).to.equal("plain — text");
        expect(a.headers["content-type"]).to.equal("text/plain; charset=utf-8");
      },
      created: (a) => {
        expect(a.status).to.equal(201);
        expect(a.json).to.deep.equal({ made: true });
        expect(a.headers["x-made-by"]).to.equal("test");
      },
      nothing: (a) => expect([a.status, a.text]).to.deep.equal([204, ""]),
      empty: (a) => {
        expect(a.status).to.equal(204);
        expect(a.headers["x-made-by"]).to.equal("test");
        expect(a.headers).to.not.have.property("content-type");
      },
      bytes: (a) => {
        expect(a.body.equals(Buffer.from([0, 255, 128, 10]))).to.equal(true);
        expect(a.headers["content-type"]).to.equal("application/octet-stream");
      },
      html: (a) => expect(a.headers["x-content-type-options"]).to.equal("nosniff"),
      cheeky: (a) => {
        expect(a.headers).to.not.have.property("set-cookie");
        expect(a.headers["x-request-id"]).to.not.equal("forged");
      },
    };
    for (const [kind, check] of Object.entries(expectations)) check(await result(kind));
  });

  it("answers 304 if the client has the version (RFC 9110 §13.1.2), with the headers that a 304 needs (§15.4.5)", async () => {
    const id = await made("answers", { kind: "json" });
    const etag = String((await get(id)).headers.etag);
    for (const condition of [etag, `W/${etag}`, `"other", ${etag}`, "*"]) {
      for (const [method, more] of [
        ["GET", {}],
        ["HEAD", {}],
        // What fetch adds to a condition.
        ["GET", { "Cache-Control": "no-cache", Pragma: "no-cache" }],
      ] as const) {
        const answer = await get(id, "", { "If-None-Match": condition, ...more }, method);
        expect(answer.status, `${method} ${condition} ${JSON.stringify(more)}`).to.equal(304);
        expect(answer.text).to.equal("");
        expect(answer.headers.etag).to.equal(etag);
        expect(answer.headers.vary).to.contain("Prefer");
        expect(answer.headers).to.include.keys("expires", "cache-control");
        expect(answer.headers).to.not.have.property("content-length");
      }
    }
    expect((await get(id, "", { "If-None-Match": '"other"' })).status).to.equal(200);
  });

  it("answers HEAD with the headers of GET and no body", async () => {
    const id = await made("answers", { kind: "json" });
    const [head, whole] = [await get(id, "", {}, "HEAD"), await get(id)];
    expect(head.status).to.equal(200);
    expect(head.text).to.equal("");
    expect(head.headers["content-length"]).to.equal(String(whole.body.length));
    expect(head.headers.etag).to.equal(whole.headers.etag);
  });
});

describe("PENDING_STATUS=202", () => {
  it("is for clients that treat a 404 as final", async () => {
    const server = await startServer({ PENDING_STATUS: "202" });
    try {
      const id = await server.enqueue("default", 1, "?delay=3600");
      expect((await server.send(`/v1/requests/${id}`)).status).to.equal(202);
      expect((await server.send(`/v1/requests/${id}?pending=404`)).status).to.equal(404);
      expect((await server.send("/v1/requests/nobody")).status).to.equal(404);
    } finally {
      await server.stop();
    }
  });
});
