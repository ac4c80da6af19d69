import { expect } from "chai";
import type { OpenApiDocument } from "../../../src/http/openapi/types.ts";
import { closedGate } from "../../helpers/gates.ts";
import { openBatch } from "../../helpers/http/batch.ts";
import { Contract } from "../../helpers/http/contract.ts";
import { type Answer, type Sent, startServer, type TestServer } from "../../helpers/http/server.ts";
import { eventually } from "../../shared/eventually.ts";

const ASYNC = { Prefer: "respond-async" };
const NDJSON = { "Content-Type": "application/x-ndjson" };

describe("answers of the server, compared with its OpenAPI description", () => {
  let server: TestServer;
  let contract: Contract;
  let document: OpenApiDocument;
  before(async () => {
    server = await startServer({ SYNC_LIMIT: "1s", MAX_WAITING: "3" });
    document = (await server.send("/openapi.json")).json;
    contract = new Contract(document);
  });
  after(() => server.stop());

  /** Sends, and fails where the answer is not as described. */
  const send = async (
    method: string,
    path: string,
    status: number,
    sent: Omit<Sent, "method"> = {},
  ): Promise<Answer> => {
    const answer = await server.send(path, { method, ...sent });
    expect(contract.violations(method, path, answer)).to.deep.equal([]);
    expect(answer.status, `${method} ${path} ${answer.text}`).to.equal(status);
    // The monitor may also answer with a result, so its description allows anything.
    if (status === 200 && path.endsWith("/status")) expect(contract.faults("Task", answer.json)).to.deep.equal([]);
    return answer;
  };
  const until = (id: string, state: string) => server.until(id, state);

  it("are as described for submissions", async () => {
    await send("POST", "/v1/requests", 200, { body: 1 });
    await send("POST", "/v1/requests?delay=60", 202, { body: 1, headers: { ...ASYNC, "X-Request-Id": "tour-later" } });
    await send("POST", "/v1/requests?delay=60", 202, { body: 1, headers: { ...ASYNC, "X-Request-Id": "tour-later" } });
    await send("POST", "/v1/requests?dryRun=true", 200, { body: 1 });
    await send("POST", "/v1/requests", 200, { body: 1, headers: { Accept: "text/event-stream" } });
    await send("POST", "/v1/requests", 400, { body: "{" });
    await send("POST", "/v1/requests?delay=x", 400, { body: 1 });
    await send("POST", "/v1/queues/checked/requests", 400, { body: { width: 0 } });
    await send("POST", "/v1/queues/nowhere/requests", 404, { body: 1 });
    await send("POST", "/v1/requests", 409, { body: 2, headers: { "X-Request-Id": "tour-later" } });
    await send("POST", "/v1/requests", 413, { body: "x".repeat(1024 ** 2 + 1) });
    await send("POST", "/v1/queues/images/requests", 415, { body: 1 });
    const key = { ...ASYNC, "Idempotency-Key": "tour" };
    await send("POST", "/v1/requests?delay=60", 202, { body: 1, headers: key });
    await send("POST", "/v1/requests", 422, { body: 2, headers: key });
    await send("PUT", "/v1/requests/tour-later?delay=60", 200, { body: 3, headers: ASYNC });
    await send("PUT", "/v1/queues/default/requests/tour-put", 200, { body: 3 });
    await send("PUT", "/v1/requests/not%20one", 400, { body: 3 });
    for (const kind of ["json", "null", "text", "created", "nothing", "empty", "bytes", "html", "cheeky"]) {
      const answer = await server.send("/v1/queues/answers/requests", { method: "POST", body: { kind } });
      expect(contract.violations("POST", "/v1/queues/answers/requests", answer), kind).to.deep.equal([]);
    }
  });

  it("are as described for a full or long line, and after time limits", async () => {
    const gate = closedGate();
    const post = (status: number, search = "", headers: Sent["headers"] = ASYNC) =>
      send("POST", `/v1/queues/gated/requests${search}`, status, { body: gate.input, headers });
    const { json } = await post(202);
    await gate.entered;
    await post(504, "", {});
    await post(202, "?maxIndex=1");
    await post(503, "?maxIndex=0");
    await post(202);
    await post(503);
    gate.open();
    await until(json.id, "succeeded");
  });

  it("are as described for groups", async () => {
    const gate = closedGate();
    const batch = (status: number, search: string, input: unknown = gate.input) =>
      send("POST", `/v1/queues/gated-too/batches${search}`, status, {
        headers: NDJSON,
        body: JSON.stringify(input),
      });
    const path = String((await batch(202, "?group=true")).headers.location);
    await gate.entered;
    const { headers } = await send("GET", path, 202);
    await send("GET", path, 304, { headers: { "If-None-Match": String(headers.etag) } });
    await send("GET", `${path}/results`, 200);
    await batch(202, "?group=tour&open=true");
    await batch(202, "?group=tour");
    await batch(409, "?group=tour", { gate: "another" });
    await batch(400, "?group=not%20one");
    await batch(400, "?open=true");
    await send("DELETE", "/v1/groups/tour", 202);
    gate.open({ done: true });
    await send("GET", `${path}/results?follow=true`, 200);
    await send("GET", `${path}/results?follow=x`, 400);
    await send("GET", `${path}/events`, 200);
    await eventually(async () => (await server.send(path)).status === 200);
    await send("GET", path, 200);
    await send("DELETE", path, 204);
    for (const at of ["", "/events", "/results"]) await send("GET", `/v1/groups/nobody${at}`, 404);
    await send("DELETE", "/v1/groups/nobody", 404);
  });

  it("are as described for watching and collecting", async () => {
    const gate = closedGate();
    const { id } = (await send("POST", "/v1/queues/gated-too/requests", 202, { body: gate.input, headers: ASYNC }))
      .json;
    await gate.entered;
    await send("GET", `/v1/requests/${id}`, 404);
    await send("GET", `/v1/requests/${id}?pending=202`, 202);
    await send("GET", `/v1/requests/${id}?pending=no`, 400);
    const { headers } = await send("GET", `/v1/requests/${id}/status`, 202);
    await send("GET", `/v1/requests/${id}/status`, 304, { headers: { "If-None-Match": String(headers.etag) } });
    await send("GET", `/v1/requests/${id}/status`, 202, { headers: { Accept: "text/html" } });
    await send("GET", `/v1/requests/${id}/status?onPending=synchronous`, 404);
    await send("GET", `/v1/queue/requests/${id}`, 202);
    const waiting = (await send("POST", "/v1/queues/gated-too/requests", 202, { body: gate.input, headers: ASYNC }))
      .json;
    await send("GET", `/v1/requests/${waiting.id}`, 404);
    const path = `/v1/requests/${waiting.id}`;
    await send("PATCH", path, 200, { body: { place: "first" } });
    await send("PATCH", path, 400, { body: { place: "second" } });
    await send("PATCH", `/v1/requests/${id}`, 409, { body: { priority: 7 } });
    await send("PATCH", "/v1/requests/nobody", 404, { body: { priority: 7 } });
    await send("POST", `${path}/again?delay=3600`, 202, { headers: ASYNC });
    await send("POST", `${path}/again?delay=x`, 400, { headers: ASYNC });
    await send("POST", "/v1/requests/nobody/again", 404);
    gate.open({ done: true });
    await until(waiting.id, "succeeded");
    const result = await send("GET", `/v1/requests/${id}`, 200);
    await send("GET", `/v1/requests/${id}`, 304, { headers: { "If-None-Match": String(result.headers.etag) } });
    await send("GET", `/v1/requests/${id}/status`, 200);
    await send("GET", `/v1/queue/requests/${id}`, 200);
    await send("GET", `/v1/requests/${id}/status?onComplete=redirect`, 303);
    await send("GET", `/v1/requests/${id}/status?onComplete=stream`, 200);
    const events = await send("GET", `/v1/requests/${id}/events`, 200);
    const [, done = ""] = /^event: done\n.*?^data: (.*?)$/ms.exec(events.text) ?? [];
    const { result: _, ...document } = JSON.parse(done);
    expect(contract.faults("Task", document)).to.deep.equal([]);
    const last = /^id: ?(.+)$/m.exec(events.text)?.[1];
    await send("GET", `/v1/requests/${id}/events`, 204, { headers: { "Last-Event-ID": String(last) } });
    await send("GET", `/v1/requests/${id}/output`, 200);
    await send("GET", `/v1/requests/${id}/output?after=x`, 400);
    await send("GET", `/v1/requests/${id}/timeline`, 200);
    await send("GET", "/v1/requests/nobody/timeline", 404);
    await send("GET", "/v1/requests/nobody/input", 404);
    await send("GET", "/v1/requests/nobody/output", 404);
    await send("GET", "/v1/requests/nobody", 404);
    await send("GET", "/v1/requests/nobody/status", 404);
    await send("GET", "/v1/requests/nobody/events", 404);
  });

  it("are as described for failed, canceled and deleted tasks", async () => {
    const gaveUp = { status: 422, title: "No", detail: "not this", more: [1] };
    await send("POST", "/v1/queues/giving-up/requests", 422, {
      body: gaveUp,
      headers: { "X-Request-Id": "tour-gave-up" },
    });
    await send("GET", "/v1/requests/tour-gave-up", 422);
    await send("GET", "/v1/requests/tour-gave-up/status", 200);
    await send("POST", "/v1/queues/giving-up/requests", 404, { body: { status: 404, type: "https://x.example/none" } });
    await send("POST", "/v1/queues/failing/requests", 500, { body: 1, headers: { "X-Request-Id": "tour-dead" } });
    await send("POST", "/v1/queues/late/requests", 500, { body: 1 });
    await send("POST", "/v1/queues/brief/requests", 200, { body: 1, headers: { "X-Request-Id": "tour-brief" } });
    await eventually(async () => (await server.send("/v1/requests/tour-brief")).status === 410);
    await send("GET", "/v1/requests/tour-brief", 410);
    await send("GET", "/v1/requests/tour-brief/status", 200);
    await send("POST", "/v1/queues/checked/requests?delay=60", 202, {
      body: { width: 1 },
      headers: { ...ASYNC, "X-Request-Id": "tour-cancel" },
    });
    await send("DELETE", "/v1/requests/tour-cancel", 200);
    await send("DELETE", "/v1/requests/tour-cancel", 204);
    await send("GET", "/v1/requests/tour-cancel", 410);
    await send("GET", "/v1/requests/tour-cancel/status", 200);
    await send("DELETE", "/v1/requests/tour-put", 204);
    await send("GET", "/v1/requests/tour-put", 410);
    await send("GET", "/v1/requests/tour-put/status", 410);
    await send("GET", "/v1/requests/tour-put/timeline", 410);
    await send("GET", "/v1/requests/tour-dead/timeline", 200);
    await send("DELETE", "/v1/requests/nobody", 404);
    const gate = closedGate();
    await send("POST", "/v1/queues/gated/requests", 202, {
      body: gate.input,
      headers: { ...ASYNC, "X-Request-Id": "tour-stop" },
    });
    await gate.entered;
    // Its handler may have stopped before the answer is written.
    const stop = await server.send("/v1/requests/tour-stop", { method: "DELETE" });
    expect(contract.violations("DELETE", "/v1/requests/tour-stop", stop)).to.deep.equal([]);
    expect(stop.status).to.be.oneOf([202, 200]);
  });

  it("are as described for queues and dead letters", async () => {
    const { items } = (await send("GET", "/v1/queues", 200)).json;
    expect(items.length).to.be.greaterThan(5);
    await send("GET", "/v1/queues/checked", 200);
    await send("GET", "/v1/queues/nowhere", 404);
    await send("GET", "/v1/history?minutes=5", 200);
    await send("GET", "/v1/history?minutes=x", 400);
    await send("GET", "/v1/queues/failing/history?minutes=5&after=1", 200);
    for (const list of ["waiting", "running", "scheduled", "dead", "finished"])
      await send("GET", `/v1/queues/failing/${list}?limit=1`, 200);
    expect((await send("GET", "/v1/queues/failing/dead", 200)).json.items[0].errors).to.have.length(1);
    await send("GET", "/v1/queues/failing/dead?cursor=x", 400);
    await send("GET", "/v1/queues/failing/dead?state=running", 400);
    await send("POST", "/v1/queues/failing/bulk", 200, { body: { action: "delete", list: "dead", dryRun: true } });
    await send("POST", "/v1/queues/failing/bulk", 400, { body: { action: "delete", list: "waiting" } });
    await send("POST", "/v1/queues/failing/pause", 200);
    await send("POST", "/v1/requests/tour-dead/retry", 202);
    await send("POST", "/v1/requests/tour-dead/retry", 409);
    await send("GET", "/v1/queues/failing/waiting", 200);
    await send("POST", "/v1/queues/failing/resume", 200);
    await until("tour-dead", "failed");
    await send("POST", "/v1/queues/failing/dead/retry", 200);
    await until("tour-dead", "failed");
    await send("DELETE", "/v1/queues/failing/dead", 200);
    await send("POST", "/v1/requests/nobody/retry", 404);
    await send("POST", "/v1/queues/nowhere/dead/retry", 404);
  });

  it("are as described for batches", async () => {
    const path = "/v1/queues/checked/batches";
    await send("POST", path, 202, { body: '{"width":1}\n{"width":0}\n{', headers: NDJSON });
    await send("POST", `${path}?envelope=true`, 202, {
      body: '{"id":"tour-b","input":{"width":1}}\n'.repeat(2),
      headers: NDJSON,
    });
    await send("POST", path, 415, { body: {} });
    await send("POST", `${path}?envelope=x`, 400, { body: "1", headers: NDJSON });
    const open = openBatch(server.url, path);
    open.write('{"width":2}\n');
    expect(await open.next()).to.have.property("id");
    open.leave();
  });

  it("are as described for allocated ids", async () => {
    const { id } = (await send("GET", "/api/v1/task?queue=gated", 200)).json;
    const path = `/api/v1/task/${id}`;
    const gate = closedGate();
    await send("GET", path, 200);
    await send("POST", path, 202, { body: gate.input });
    await gate.entered;
    await send("GET", path, 202);
    await send("PUT", path, 409, { body: { gate: "x" } });
    const other = `/api/v1/task/${(await send("GET", "/api/v1/task?queue=gated", 200)).json.id}`;
    await send("PUT", other, 202, { body: { gate: "x" } });
    await send("PUT", other, 200, { body: { gate: "y" } });
    await send("DELETE", other, 204);
    await send("GET", other, 410);
    gate.open({ ok: true });
    await until(id, "succeeded");
    await send("GET", path, 200);
    await send("POST", path, 409, { body: { gate: "z" } });
    const text = (await send("GET", "/api/v1/task?queue=answers", 200)).json.id;
    await send("POST", `/api/v1/task/${text}`, 202, { body: { kind: "text" } });
    await until(text, "succeeded");
    await send("GET", `/api/v1/task/${text}`, 200);
    await send("GET", "/api/v1/task?queue=images", 400);
    await send("GET", "/api/v1/task/nobody", 404);
    await send("DELETE", "/api/v1/task/nobody", 404);
  });

  it("are as described for the service itself", async () => {
    for (const path of [
      "/v1/access",
      "/v1/workers",
      "/healthz",
      "/readyz",
      "/metrics",
      "/openapi.json",
      "/problems/pending",
    ])
      await send("GET", path, 200);
    await send("GET", "/problems/pending", 200, { headers: { Accept: "text/html" } });
    await send("GET", "/problems/nothing", 404);
  });

  it("are as described for gateways", async () => {
    for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE"]) {
      await send(method, "/v1/gateway/default", 404);
      await send(method, "/v1/gateway/default/some/path", 404);
    }
  });

  it("cover every described operation, except those of workers", () => {
    const all = Object.entries(document.paths).flatMap(([path, item]) =>
      Object.keys(item ?? {}).map((method) => `${method.toUpperCase()} ${path}`),
    );
    const missing = all.filter(
      (name) => !contract.seen.has(name) && !/lease|^HEAD|^POST \/v1\/queues\/[^{]/.test(name),
    );
    expect(missing).to.deep.equal([]);
  });
});

describe("answers to workers over HTTP, compared with the description", () => {
  let server: TestServer;
  let contract: Contract;
  before(async () => {
    server = await startServer({ ROLE: "api", SYNC_LIMIT: "1s" });
    contract = new Contract((await server.send("/openapi.json")).json);
  });
  after(() => server.stop());

  it("are as described from reservation to end", async () => {
    const send = async (path: string, status: number, body: unknown, headers = {}) => {
      const answer = await server.send(path, { method: "POST", body, headers });
      expect(contract.violations("POST", path, answer)).to.deep.equal([]);
      expect(answer.status, `${path} ${answer.text}`).to.equal(status);
      return answer;
    };
    const take = async () => (await send("/v1/queues/checked/leases", 200, { worker: "w" })).json.items[0];
    await send("/v1/queues/checked/leases", 204, {}, { Prefer: "wait=0" });
    await send("/v1/queues/checked/leases", 400, { count: 0 });
    await send("/v1/queues/checked/leases", 400, { count: 64, fill: "2m" });
    // A worker that fills its requests has one slot for the tasks of each.
    await send("/v1/queues/checked/leases", 204, { worker: "filler", count: 64, fill: "10ms" }, { Prefer: "wait=0" });
    expect((await server.send("/v1/queues/checked")).json.slots).to.equal(2);
    await send("/v1/queues/nowhere/leases", 404, {});
    for (const width of [1, 2]) await server.enqueue("checked", { width });
    const done = await take();
    const { fence } = done;
    const base = `/v1/leases/${done.id}`;
    await send(`${base}/renew`, 200, { fence });
    await send(`${base}/progress`, 204, { fence, percent: 50 });
    await send(`${base}/progress`, 400, { fence, percent: 101 });
    await send(`${base}/output`, 204, { fence, data: ["word"] });
    await send(`${base}/output`, 400, { fence, data: "word" });
    await send(`${base}/complete`, 200, { fence, result: { ok: true } });
    await send(`${base}/renew`, 410, { fence });
    const failed = await take();
    await send(`/v1/leases/${failed.id}/fail`, 200, { fence: failed.fence, giveUp: { status: 422, title: "No" } });
    await send("/v1/leases/nobody/fail", 404, { fence: 1 });
    const missing = ["take", "renew", "progress", "output", "complete", "fail"].filter(
      (verb) => ![...contract.seen.keys()].some((name) => name.endsWith(verb === "take" ? "/leases" : `/${verb}`)),
    );
    expect(missing).to.deep.equal([]);
  });
});
