import { once } from "node:events";
import net from "node:net";
import { expect } from "chai";
import { errorEntries, ProblemError } from "../../../src/errors.ts";
import { problemOf } from "../../../src/http/problems/problem.ts";
import { createLog } from "../../../src/log.ts";
import { raw } from "../../helpers/http/raw.ts";
import { startServer, type TestServer } from "../../helpers/http/server.ts";

/** Sends these bytes and returns all that comes back until the server closes. */
describe("errors over HTTP", () => {
  let server: TestServer;
  before(async () => {
    server = await startServer();
  });
  after(() => server.stop());

  it("have no detail that repeats the title, whatever the code", () => {
    for (const { code, title } of errorEntries)
      for (const error of [new ProblemError(code), new ProblemError(code, title)])
        expect(problemOf(error, createLog("silent")), code).to.not.have.property("detail");
  });

  it("name the queues that there are, where there is none of a name, and not too many of them", async () => {
    const { json } = await server.post("nobody", 1);
    expect(json).to.include({ type: "/problems/unknown-queue", title: "No queue has this name", queue: "nobody" });
    expect(json.detail).to.match(/^There are ([a-z-]+, ){7}[a-z-]+ and \d+ more\.$/);
  });

  it("list the methods by 405 and Allow (RFC 9110 §15.5.6)", async () => {
    const cases = {
      "/v1/requests": ["POST"],
      "/v1/requests/abc": ["DELETE", "GET", "HEAD", "PATCH", "PUT"],
      "/v1/requests/abc/status": ["GET", "HEAD"],
      "/v1/queues": ["GET", "HEAD"],
      "/healthz": ["GET", "HEAD"],
    };
    for (const [path, allowed] of Object.entries(cases)) {
      const answer = await server.send(path, { method: allowed.includes("POST") ? "PATCH" : "POST" });
      expect(answer.status, path).to.equal(405);
      expect(answer.json).to.include({ type: "/problems/method-not-allowed", status: 405 });
      expect(String(answer.headers.allow).split(", ").sort()).to.include.members(allowed);
      const options = await server.send(path, { method: "OPTIONS" });
      expect(options.status).to.equal(200);
      expect(options.headers.allow).to.equal(answer.headers.allow);
    }
    expect((await server.send("/v1/queues", { method: "PROPFIND" })).status).to.equal(405);
  });

  it("distinguish paths by case (RFC 9110 §4.2.3)", async () => {
    const answer = await server.send("/V1/Requests/abc", { method: "PUT", body: 1 });
    expect(answer.json.type).to.equal("/problems/not-found");
  });

  it("are 4xx, never 5xx, for any bytes", async () => {
    for (const [request, status] of [
      ["GET /v1/requests/%E0%A4%A HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n", 404],
      ["GET /v1/queues?pending=%zz HTTP/1.1\r\nHost: [\r\nConnection: close\r\n\r\n", 421],
      ["GET /v1/requests/x?pending=1 HTTP/1.1\r\nHost: LocalHost:99999\r\nConnection: close\r\n\r\n", 400],
      ["GET /v1/requests/x HTTP/1.0\r\n\r\n", 404],
      ["GET //v1//requests HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n", 404],
      ["GET http://other/v1/queues HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n", 421],
      [`GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nA: ${"b".repeat(20_000)}\r\n\r\n`, 431],
      ["BLAH / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 400],
    ] as const) {
      expect(await raw(server.url, request), request.slice(0, 60)).to.match(new RegExp(`^HTTP/1.1 ${status} `));
    }
    expect(server.log.filter((line) => String(line.msg).includes("unexpected error"))).to.deep.equal([]);
  });

  it("do not disturb the server if a client disconnects midway", async () => {
    const head =
      "POST /v1/requests HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n";
    const socket = net.connect(Number(new URL(server.url).port), "127.0.0.1");
    await once(socket, "connect");
    await new Promise((resolve) => socket.write(`${head}{"half":`, resolve));
    socket.destroy();
    await once(socket, "close");
    expect((await server.send("/healthz")).status).to.equal(200);
  });

  it("can be found in the log by the id that the caller was given, in API and worker lines alike", async () => {
    const answer = await server.post("logging", 1, { "X-Request-Id": "find-me" });
    expect(answer.status).to.equal(204);
    const lines = server.log.filter((line) => line.requestId === "find-me");
    expect(lines.map((line) => line.msg)).to.include.members(["written by the handler", "request"]);
    const request = lines.find((line) => line.msg === "request");
    expect(request).to.include({ method: "POST", path: "/v1/queues/logging/requests", status: 204 });
    const refused = await server.post("nobody", 1, { "X-Request-Id": "refused-me" });
    expect(refused.status).to.equal(404);
    expect(server.log.some((line) => line.requestId === "refused-me" && line.status === 404)).to.equal(true);
  });
});
