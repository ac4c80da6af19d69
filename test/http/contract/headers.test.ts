import path from "node:path";
import { expect } from "chai";
import { startServer, type TestServer } from "../../helpers/http/server.ts";
import { PENDING, type TasksOfEach, tasksOfEach } from "./task-states.ts";

const SHAPED = path.join(import.meta.dirname, "../../fixtures/handlers/shaped");

describe("the contract: headers of every answer", () => {
  let server: TestServer;
  let each: TasksOfEach;
  before(async () => {
    server = await startServer({ SYNC_LIMIT: "100ms", MAX_WAITING: "10", MAX_BODY: "1kb" });
    each = await tasksOfEach(server);
  });
  after(async () => {
    each.release();
    await server.stop();
  });

  for (const condition of PENDING) {
    it(`of a ${condition} task are the same on 202 and 404, without those that are null in the body`, async () => {
      const { id, queue } = each.tasks[condition];
      for (const search of ["", "?pending=202", "?pending=404"]) {
        const answer = await server.send(`/v1/requests/${id}${search}`, { headers: { "X-Request-Id": "my-own" } });
        const { headers, json } = answer;
        expect(answer.status).to.equal(search.endsWith("202") ? 202 : 404);
        expect(headers).to.include({
          ...{ "x-request-id": "my-own", location: `/v1/requests/${id}` },
          "operation-location": `${server.url}/v1/requests/${id}/status`,
          link: `</v1/requests/${id}/status>; rel="monitor", </v1/requests/${id}/events>; rel="alternate"; type="text/event-stream"`,
        });
        const index = condition === "waiting" || condition === "running" ? 0 : null;
        expect(json).to.include({ id, queue, state: condition, index });
        const pending = ["rel", "href", "method", "index", "id", "queue", "state", "eta", "links"];
        const problem = ["type", "title", "status"];
        expect(Object.keys(json)).to.deep.equal(answer.status === 202 ? pending : [...problem, ...pending]);
      }
    });
  }

  it("a 202 begins with rel, href, method and index, in this order", async () => {
    const answer = await server.post("default", {}, { Prefer: "respond-async" });
    expect(Object.entries(answer.json).slice(0, 4)).to.deep.equal([
      ["rel", "self"],
      ["href", `/v1/requests/${answer.headers["x-request-id"]}`],
      ["method", "GET"],
      ["index", 0],
    ]);
    expect(answer.text).to.match(/^\{"rel":"self","href":/);
  });

  it("X-Request-Id is on every answer: a valid one as sent, an invalid one never", async () => {
    const { id } = each.tasks.succeeded;
    for (const at of [`/v1/requests/${id}`, `/v1/requests/${id}/status`, "/nowhere", "/healthz", "/openapi.json"]) {
      const fit = await server.send(at, { headers: { "X-Request-Id": "A-1.b_c~d" } });
      expect(fit.headers["x-request-id"]).to.equal("A-1.b_c~d");
      for (const unfit of ["-a", "a".repeat(129)]) {
        const { headers, text } = await server.send(at, { headers: { "X-Request-Id": unfit } });
        expect(headers["x-request-id"]).to.match(/^[0-9a-f-]{36}$/);
        if (unfit.length > 100) expect(text).not.to.contain(unfit);
      }
    }
  });
});

describe("the contract: headers of a result", () => {
  let server: TestServer;
  before(async () => {
    server = await startServer({ HANDLERS: SHAPED, CORS_ORIGINS: "https://app.example" });
  });
  after(() => server.stop());

  it("come with any status that the handler chose, with or without a body; its 404 is not a problem document", async () => {
    for (const [status, body] of [
      [200, "a"],
      [201, ""],
      [204, ""],
      [205, ""],
      [404, ""],
      [404, "gone"],
      [503, "x"],
    ] as const) {
      const answer = await server.post("shaped", { status, headers: {}, body });
      expect([answer.status, answer.text], String(status)).to.deep.equal([status, body]);
      expect(answer.headers["x-task-state"]).to.equal("succeeded");
      expect(answer.headers).to.have.any.keys("etag", "expires");
    }
  });

  it("state how long it is kept: Expires and max-age agree, and the ETag stays", async () => {
    const { headers } = await server.post("shaped", { status: 200, headers: {}, body: "a" });
    const [, age] = /^private, max-age=(\d+)$/.exec(String(headers["cache-control"])) ?? [];
    expect(Number(age)).to.be.within(3590, 3600);
    const left = (Date.parse(String(headers.expires)) - Date.parse(String(headers.date))) / 1000;
    expect(left).to.be.closeTo(Number(age), 2);
    const later = await server.send(`/v1/requests/${headers["x-request-id"]}`);
    expect(later.headers.etag)
      .to.equal(headers.etag)
      .and.match(/^"[^"]+"$/);
  });
});
