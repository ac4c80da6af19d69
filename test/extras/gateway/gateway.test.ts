import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import http, { type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "chai";
import { startServer, type TestServer } from "../../helpers/http/server.ts";

interface Arrived {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

describe("a gateway to an existing HTTP API", () => {
  let upstream: Server;
  let server: TestServer;
  let dir: string;
  const arrived: Arrived[] = [];
  /** How the API answers the next requests to a path; 200 when nothing is left. */
  const scripted = new Map<string, { status: number; headers?: Record<string, string> }[]>();

  before(async () => {
    upstream = http.createServer(async (req, res) => {
      const chunks: Buffer[] = [];
      for await (const chunk of req) chunks.push(chunk as Buffer);
      const url = req.url ?? "";
      arrived.push({ method: req.method ?? "", url, headers: req.headers, body: Buffer.concat(chunks).toString() });
      const next = scripted.get(url)?.shift() ?? { status: 200 };
      res.writeHead(next.status, { "Content-Type": "text/plain", "X-Upstream": "yes", ...next.headers });
      res.end(`${req.method} ${url}`);
    });
    upstream.listen(0, "127.0.0.1");
    await once(upstream, "listening");
    const { port } = upstream.address() as AddressInfo;
    dir = await mkdtemp(path.join(tmpdir(), "paihao-gateway-"));
    await writeFile(
      path.join(dir, "gateways.ts"),
      `import { defineGateway, defineHandler } from "paihao";
       export const legacy = defineGateway({ queue: "legacy", target: "http://127.0.0.1:${port}/base", attempts: 3 });
       export const reading = defineGateway({ queue: "reading", target: "http://127.0.0.1:${port}", methods: ["GET"] });
       export const down = defineGateway({ queue: "down", target: "http://127.0.0.1:1", attempts: 1 });
       export const plain = defineHandler({ queue: "plain", run: () => 1 });`,
    );
    server = await startServer({ HANDLERS: dir });
  });
  after(async () => {
    await server.stop();
    upstream.close();
    await rm(dir, { recursive: true });
  });

  it("forwards method, path, query, headers and body, and returns status, headers and bytes", async () => {
    const answer = await server.send("/v1/gateway/legacy/a%20b/c?x=1&delay=5", {
      method: "POST",
      headers: { "Content-Type": "text/csv", Authorization: "Bearer secret", Cookie: "s=1", "X-Mine": "kept" },
      body: "1,2,ü",
    });
    expect(answer.status).to.equal(200);
    expect(answer.text).to.equal("POST /base/a%20b/c?x=1&delay=5");
    expect(answer.headers["x-upstream"]).to.equal("yes");
    const seen = arrived.at(-1);
    expect(seen?.body).to.equal("1,2,ü");
    expect(seen?.headers).to.include({ "content-type": "text/csv", "x-mine": "kept" });
    expect(seen?.headers["x-request-id"]).to.equal(answer.headers["x-request-id"]);
    expect(seen?.headers).to.not.have.any.keys("authorization", "cookie");
  });

  it("queues requests like any task: 202, then the answer of the API as the result", async () => {
    const accepted = await server.send("/v1/gateway/legacy/later", { headers: { Prefer: "respond-async" } });
    expect(accepted.status).to.equal(202);
    const id = String(accepted.headers["x-request-id"]);
    await server.until(id, "succeeded");
    expect((await server.send(`/v1/requests/${id}`)).text).to.equal("GET /base/later");
  });

  it("retries an idempotent method after a 429 with Retry-After or a 5xx, and returns the last answer", async () => {
    scripted.set("/base/busy", [{ status: 429, headers: { "Retry-After": "0" } }, { status: 503 }]);
    expect((await server.send("/v1/gateway/legacy/busy")).text).to.equal("GET /base/busy");
    expect(arrived.filter(({ url }) => url === "/base/busy")).to.have.length(3);
    scripted.set("/base/broken", [{ status: 500 }]);
    const once500 = await server.send("/v1/gateway/legacy/broken", { method: "POST", body: "x" });
    expect(once500.status).to.equal(500);
    expect(arrived.filter(({ url }) => url === "/base/broken")).to.have.length(1);
  });

  it("cancels a request at its Cancel-After, which is not forwarded; a query parameter of that name is", async () => {
    const url = "/base/slow?deadline=9000";
    scripted.set(url, [{ status: 429, headers: { "Retry-After": "600" } }]);
    const headers = { "Cancel-After": "1s" };
    const answer = await server.send("/v1/gateway/legacy/slow?deadline=9000", { headers });
    expect(answer.status).to.equal(410);
    expect(answer.json).to.include({ type: "/problems/canceled", reason: "deadline" });
    const requests = arrived.filter((request) => request.url === url);
    expect(requests.map((request) => request.headers["cancel-after"])).to.deep.equal([undefined]);
  });

  it("takes a Presence, which is not forwarded; a query of that name is the API's", async () => {
    const headers = { Presence: "30m", Prefer: "respond-async" };
    const accepted = await server.send("/v1/gateway/legacy/present?presence=no", { headers });
    expect(accepted.headers).to.include({ presence: "1800" });
    await server.until(String(accepted.headers["x-request-id"]), "succeeded");
    const [request] = arrived.filter(({ url }) => url === "/base/present?presence=no");
    expect(request?.headers).not.to.have.property("presence");
  });

  it("reports that the API cannot be reached", async () => {
    const answer = await server.send("/v1/gateway/down/x");
    expect(answer.status).to.equal(502);
    expect(answer.json.title).to.equal("The API behind the gateway did not answer");
  });

  it("does not leave its target, whatever the path is", async () => {
    const before = arrived.length;
    const answer = await server.send("/v1/gateway/legacy/../../../../etc");
    expect(answer.status).to.be.oneOf([400, 404]);
    expect(arrived.slice(before).every(({ url }) => url.startsWith("/base"))).to.equal(true);
  });

  it("answers 405 with Allow, 404 for unknown queues and those of handlers, and 503 queue-paused", async () => {
    const wrong = await server.send("/v1/gateway/reading/x", { method: "DELETE" });
    expect(wrong.status).to.equal(405);
    expect(wrong.headers.allow).to.equal("GET");
    expect((await server.send("/v1/gateway/nowhere/x")).json.type).to.equal("/problems/unknown-queue");
    expect((await server.send("/v1/gateway/plain/x")).json.type).to.equal("/problems/unknown-queue");
    await server.send("/v1/queues/reading/pause", { method: "POST" });
    expect((await server.send("/v1/gateway/reading/x")).json.type).to.equal("/problems/queue-paused");
    await server.send("/v1/queues/reading/resume", { method: "POST" });
    expect((await server.send("/v1/gateway/reading/x")).status).to.equal(200);
  });
});
