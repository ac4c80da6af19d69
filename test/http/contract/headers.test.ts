import path from "node:path";
import { expect } from "chai";
import { readEvents } from "../../helpers/http/events.ts";
import { type Answer, startServer, type TestServer } from "../../helpers/http/server.ts";
import { CONDITIONS, ENDED, PENDING, type TasksOfEach, tasksOfEach } from "./task-states.ts";

const SHAPED = path.join(import.meta.dirname, "../../fixtures/handlers/shaped");

/** The members of a Vary header. */
const varies = ({ headers }: Pick<Answer, "headers">) => String(headers.vary ?? "").split(/, */);

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

  it("Vary: Prefer, whatever the method, path and status (RFC 7240 §2, RFC 9110 §12.5.5)", async () => {
    const { tasks } = each;
    const ndjson = { "Content-Type": "application/x-ndjson" };
    const requests: [string, string, object?, unknown?][] = [
      ["GET", "/v1/queues"],
      ["GET", "/v1/queues/none"],
      ["GET", "/v1/nowhere"],
      ["PATCH", "/v1/requests"],
      ["OPTIONS", "/v1/requests"],
      ["GET", "/v1/requests/%zz"],
      ["GET", "/v1/requests/nobody"],
      ["POST", "/v1/requests", {}, "{"],
      ["POST", "/v1/requests", {}, "x".repeat(2000)],
      ["POST", "/v1/requests?delay=x", {}, {}],
      ["POST", "/v1/requests?dryRun=true", {}, {}],
      ["POST", "/v1/queues/default/batches", ndjson, "{}\n"],
      ["POST", "/v1/queues/default/leases", { Prefer: "wait=0" }],
      ["POST", `/v1/requests/${tasks.succeeded.id}/retry`],
      ["GET", "/v1/gateway/none/x"],
      ["GET", `/v1/requests/${tasks.waiting.id}/events?lastEventId=a&lastEventId=b`],
      ["GET", `/v1/requests/${tasks.succeeded.id}/status?onComplete=redirect`],
      ["GET", `/v1/requests/${tasks.succeeded.id}/status`, { Accept: "text/html" }],
      ...CONDITIONS.flatMap((condition): [string, string][] => [
        ["GET", `/v1/requests/${tasks[condition].id}`],
        ["HEAD", `/v1/requests/${tasks[condition].id}`],
        ["GET", `/v1/requests/${tasks[condition].id}/status`],
        ["GET", `/v1/queue/requests/${tasks[condition].id}`],
      ]),
    ];
    for (const [method, at, headers = {}, body] of requests) {
      const answer = await server.send(at, { method, headers: { ...headers }, ...(body !== undefined && { body }) });
      expect(varies(answer), `${method} ${at} ${answer.status}`).to.include("Prefer");
    }
    for (const at of [`/v1/requests/${tasks.succeeded.id}`, `/v1/requests/${tasks.succeeded.id}/status`]) {
      const { etag } = (await server.send(at)).headers;
      const unchanged = await server.send(at, { headers: { "If-None-Match": String(etag) } });
      expect(unchanged.status).to.equal(304);
      expect(varies(unchanged)).to.include.members(at.endsWith("status") ? ["Prefer", "Accept"] : ["Prefer"]);
      expect(unchanged.headers.etag).to.equal(etag);
    }
    const events = await readEvents(`${server.url}/v1/requests/${tasks.waiting.id}/events`);
    events.close();
    expect(varies(events)).to.include("Prefer");
  });

  it("Cache-Control: no-store on every 202, 404 and 410", async () => {
    for (const condition of CONDITIONS.filter((c) => c !== "succeeded")) {
      const { id } = each.tasks[condition];
      for (const suffix of ["", "?pending=202", "/status"]) {
        const { status, headers } = await server.send(`/v1/requests/${id}${suffix}`);
        expect(headers["cache-control"], `${condition} ${status}`).to.equal("no-store");
      }
    }
    for (const at of ["/v1/requests/nobody", "/v1/queues/none", "/nowhere", "/api/v1/task/nobody"]) {
      const { status, headers } = await server.send(at);
      expect([status, headers["cache-control"]], at).to.deep.equal([404, "no-store"]);
    }
  });

  for (const condition of PENDING) {
    it(`of a ${condition} task are the same on 202 and 404, without those that are null in the body`, async () => {
      const { id, queue } = each.tasks[condition];
      for (const search of ["", "?pending=202", "?pending=404"]) {
        const answer = await server.send(`/v1/requests/${id}${search}`, { headers: { "X-Request-Id": "my-own" } });
        const { headers, json } = answer;
        expect(answer.status).to.equal(search.endsWith("202") ? 202 : 404);
        expect(headers).to.include({
          "x-request-id": "my-own",
          location: `/v1/requests/${id}`,
          "x-task-state": condition,
        });
        expect(headers["operation-location"]).to.equal(`${server.url}/v1/requests/${id}/status`);
        expect(headers.link).to.equal(
          `</v1/requests/${id}/status>; rel="monitor", </v1/requests/${id}/events>; rel="alternate"; type="text/event-stream"`,
        );
        expect(headers["retry-after"]).to.match(/^[1-9]\d*$/);
        const told = (value: unknown) => (value === null ? undefined : String(value));
        expect(headers["x-queue-index"]).to.equal(told(json.index));
        // An estimate that shrinks with time is the same one a moment later.
        expect(headers["x-queue-eta"]).to.equal(told(json.eta?.seconds ?? null));
        expect(json.index).to.equal(
          { waiting: 0, running: 0, scheduled: null, retrying: null }[condition as "waiting"],
        );
        expect(json).to.include({ id, queue, state: condition });
        const pending = ["rel", "href", "method", "index", "id", "queue", "state", "eta", "links"];
        const problem = ["type", "title", "status"];
        expect(Object.keys(json)).to.deep.equal(answer.status === 202 ? pending : [...problem, ...pending]);
      }
    });
  }

  it("X-Queue-ETA is absent without an estimate, and eta is null", async () => {
    const answer = await server.send(`/v1/requests/${each.tasks.waiting.id}`);
    expect(answer.json.eta).to.equal(null);
    expect(answer.headers).not.to.have.property("x-queue-eta");
  });

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
    for (const { id } of ENDED.map((condition) => each.tasks[condition])) {
      for (const at of [`/v1/requests/${id}`, `/v1/requests/${id}/status`, "/nowhere", "/healthz", "/openapi.json"]) {
        const fit = await server.send(at, { headers: { "X-Request-Id": "A-1.b_c~d" } });
        expect(fit.headers["x-request-id"]).to.equal("A-1.b_c~d");
        for (const unfit of ["-a", ".a", "a b", "a/b", "a".repeat(129), "ä"]) {
          const sent = Buffer.from(unfit).toString("latin1");
          const { headers, text } = await server.send(at, { headers: { "X-Request-Id": sent } });
          expect(headers["x-request-id"]).to.match(/^[0-9a-f-]{36}$/);
          if (unfit.length > 100) expect(text).not.to.contain(unfit);
        }
      }
    }
  });

  it("404 unknown has index null, like every answer of a task without a place", async () => {
    const unknown = await server.send("/v1/requests/nobody");
    expect(unknown.json).to.include({ type: "/problems/unknown", status: 404, id: "nobody", index: null });
  });
});

describe("the contract: headers of a result", () => {
  let server: TestServer;
  before(async () => {
    server = await startServer({ HANDLERS: SHAPED, CORS_ORIGINS: "https://app.example" });
  });
  after(() => server.stop());

  it("are the handler's, except for those that only the server sets", async () => {
    const forged = {
      "X-Task-State": "forged",
      "X-Queue-Index": "9",
      "X-Queue-ETA": "9",
      "Preference-Applied": "forged",
      "Idempotent-Replayed": "forged",
      "Operation-Location": "https://evil.example/",
      "Access-Control-Allow-Origin": "*",
      "RateLimit-Policy": "forged",
      "X-Request-Id": "forged",
      "Content-Language": "de",
    };
    const answer = await server.post("shaped", { status: 201, headers: forged, body: "made" }, { Prefer: "wait=5" });
    expect(answer.status).to.equal(201);
    expect(answer.headers).to.include({ "content-language": "de", "x-task-state": "succeeded" });
    expect(answer.headers).to.include({ "preference-applied": "wait=5" });
    for (const name of ["x-queue-index", "x-queue-eta", "idempotent-replayed", "operation-location"]) {
      expect(answer.headers).not.to.have.property(name);
    }
    expect(answer.headers).not.to.have.any.keys("access-control-allow-origin", "ratelimit-policy");
    expect(varies(answer)).to.have.members(["Prefer", "Origin"]);
    const collected = await server.send(`/v1/requests/${answer.headers["x-request-id"]}`);
    expect(collected.status).to.equal(201);
    expect(collected.headers).not.to.have.any.keys("preference-applied", "location");
  });

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
