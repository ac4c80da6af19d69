import { expect } from "chai";
import { errorEntries, ProblemError } from "../../../src/errors.ts";
import { problemOf } from "../../../src/http/problems/problem.ts";
import { createLog } from "../../../src/log.ts";
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
