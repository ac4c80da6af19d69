import { expect } from "chai";
import { errorEntries } from "../../../src/errors.ts";
import { closedGate } from "../../helpers/gates.ts";
import { testKeys } from "../../helpers/http/api-keys.ts";
import { type Answer, type Sent, startServer, type TestServer } from "../../helpers/http/server.ts";
import { eventually } from "../../shared/eventually.ts";

/** The catalogue as it is promised: a code never changes its status. */
const PROMISED: Readonly<Record<number, string>> = {
  400: "malformed-json invalid-input invalid-parameter",
  401: "unauthenticated",
  403: "forbidden",
  404: "pending unknown unknown-queue not-found",
  405: "method-not-allowed",
  409: "id-conflict not-retryable not-running not-waiting declared",
  410: "canceled expired deleted invalid-task",
  412: "precondition-failed",
  413: "payload-too-large",
  414: "uri-too-long",
  415: "unsupported-media-type",
  421: "wrong-host",
  422: "idempotency-conflict",
  429: "rate-limited too-many-tasks",
  500: "task-failed task-timeout worker-lost internal",
  502: "no-answer",
  503: "queue-full line-too-long store-unavailable store-full not-durable resolver-unavailable queue-paused turn-over stopping",
  504: "answer-timeout sync-timeout",
};

/** What needs a failing store or worker, or a gateway, and is shown by the tests of those; `internal` is what nobody foresees. */
const ELSEWHERE = [
  "declared",
  "worker-lost",
  "internal",
  "store-unavailable",
  "store-full",
  "not-durable",
  "resolver-unavailable",
  "queue-paused",
  "no-answer",
  "turn-over",
  "stopping",
  "answer-timeout",
];

describe("the contract: the catalogue of problems (RFC 9457)", () => {
  const seen = new Set<string>();
  let server: TestServer;
  /** Another one of the same tasks, which nobody waits at for long. */
  let impatient: TestServer;
  before(async () => {
    server = await startServer({ MAX_BODY: "1kb", MAX_WAITING: "2" });
    impatient = await startServer({ KEY_PREFIX: server.prefix, ROLE: "api", SYNC_LIMIT: "60ms" });
  });
  after(async () => {
    await impatient.stop({ keep: true });
    await server.stop();
  });

  const expectProblem = (answer: Answer, status: number, code: string) => {
    seen.add(code);
    expect(answer.status, answer.text).to.equal(status);
    expect(answer.json).to.include({ type: `/problems/${code}`, status });
    expect(answer.json.title).to.be.a("string").that.is.not.empty;
    return answer;
  };
  const post = (at: string, body: unknown, headers: Sent["headers"] = {}) =>
    server.send(at, { method: "POST", headers, body });

  it("has the promised codes with their statuses, and explains each", async () => {
    const promised = Object.entries(PROMISED).flatMap(([status, codes]) =>
      codes.split(" ").map((code) => `${status} ${code}`),
    );
    expect(errorEntries.map(({ status, code }) => `${status} ${code}`)).to.have.members(promised);
    for (const { code, status } of errorEntries) {
      const { json } = await server.send(`/problems/${code}`);
      expect(json).to.include({ type: `/problems/${code}`, code, status });
    }
  });

  it("412: a condition that does not hold", async () => {
    const headers = { "If-Match": "*" };
    const answer = await server.send("/v1/requests/none", { method: "PUT", headers, body: {} });
    expectProblem(answer, 412, "precondition-failed");
  });

  it("400, 413, 414, 415: the input and its options", async () => {
    expectProblem(await post("/v1/requests", "{"), 400, "malformed-json");
    const wrong = expectProblem(await post("/v1/queues/checked/requests", { width: 0 }), 400, "invalid-input");
    expect(wrong.json.errors).to.have.length(1);
    expect(wrong.json.errors[0]).to.have.all.keys("pointer", "detail").and.include({ pointer: "#/width" });
    expectProblem(await post("/v1/requests?delay=x", {}), 400, "invalid-parameter");
    for (const search of ["pending=200", "pending=202&pending=404"]) {
      const refused = await server.send(`/v1/requests/nobody?${search}`);
      expect(expectProblem(refused, 400, "invalid-parameter").json.parameter).to.equal("pending");
    }
    expectProblem(await post("/v1/requests", {}, { "Idempotency-Key": "a b" }), 400, "invalid-parameter");
    expectProblem(await server.send("/v1/requests/-x", { method: "PUT", body: {} }), 400, "invalid-parameter");
    expectProblem(await post("/v1/requests", "x".repeat(1025)), 413, "payload-too-large");
    expectProblem(await server.send(`/v1/${"x".repeat(16_384)}`), 414, "uri-too-long");
    const type = { "Content-Type": "text/plain" };
    expectProblem(await post("/v1/requests", "x", type), 415, "unsupported-media-type");
  });

  it("404, 405 and 421: unknown paths, methods and hosts", async () => {
    expectProblem(await server.send("/v1/requests/nobody"), 404, "unknown");
    expectProblem(await post("/v1/queues/none/requests", {}), 404, "unknown-queue");
    for (const method of ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]) {
      for (const at of ["/v1/gateway/default", "/v1/gateway/default/some/path"]) {
        const answer = await server.send(at, { method });
        if (method === "HEAD") expect(answer.status, at).to.equal(404);
        else expectProblem(answer, 404, "unknown-queue");
      }
    }
    for (const at of ["/none", "/problems/none"]) expectProblem(await server.send(at), 404, "not-found");
    expectProblem(await post("/openapi.json", {}), 405, "method-not-allowed");
    expectProblem(await server.send("/v1/queues", { headers: { Host: "x.example" } }), 421, "wrong-host");
  });

  it("404 pending, 409, 410, 422, 503 and 504: tasks and their line", async () => {
    const gate = closedGate();
    const running = await server.enqueue("gated", gate.input);
    await gate.entered;
    expectProblem(await server.send(`/v1/requests/${running}`), 404, "pending");
    const again = { method: "POST", headers: { "X-Request-Id": running }, body: gate.input };
    expectProblem(await impatient.send("/v1/queues/gated/requests", again), 504, "sync-timeout");
    expectProblem(await post(`/v1/requests/${running}/retry`, undefined), 409, "not-retryable");
    const move = { method: "PATCH", body: { priority: 7 } };
    expectProblem(await server.send(`/v1/requests/${running}`, move), 409, "not-waiting");
    expectProblem(await post(`/v1/requests/${running}/done`, undefined), 409, "not-running");
    expectProblem(await post("/v1/queues/gated/requests", {}, { "X-Request-Id": running }), 409, "id-conflict");
    const waiting = await server.enqueue("gated", gate.input);
    expectProblem(await post("/v1/queues/gated/requests?maxIndex=0", {}), 503, "line-too-long");
    await server.enqueue("gated", gate.input);
    expectProblem(await post("/v1/queues/gated/requests", {}), 503, "queue-full");
    await server.send(`/v1/requests/${waiting}`, { method: "DELETE" });
    expectProblem(await server.send(`/v1/requests/${waiting}`), 410, "canceled");
    gate.open();

    const key = { "Idempotency-Key": '"k"' };
    const first = await post("/v1/requests", { n: 1 }, key);
    expect(first.status).to.equal(200);
    expectProblem(await post("/v1/requests", { n: 2 }, key), 422, "idempotency-conflict");
    const done = String(first.headers["x-request-id"]);
    await server.send(`/v1/requests/${done}`, { method: "DELETE" });
    expectProblem(await server.send(`/v1/requests/${done}`), 410, "deleted");
    const brief = await server.enqueue("brief", {});
    await server.until(brief, "succeeded");
    await eventually(async () => (await server.send(`/v1/requests/${brief}`)).status === 410);
    expectProblem(await server.send(`/v1/requests/${brief}`), 410, "expired");
    const { id } = (await server.send("/api/v1/task")).json;
    await post(`/api/v1/task/${id}?delay=60`, {});
    await server.send(`/api/v1/task/${id}`, { method: "DELETE" });
    expectProblem(await server.send(`/api/v1/task/${id}`), 410, "invalid-task");
  });

  it("500: tasks that failed; their state is in `state`, never in `status`, and there is no stack trace anywhere", async () => {
    for (const [queue, code] of [["failing", "task-failed"] as const, ["late", "task-timeout"] as const]) {
      const id = await server.enqueue(queue, {});
      await server.until(id, "failed");
      const answer = expectProblem(await server.send(`/v1/requests/${id}`), 500, code);
      expect(answer.json).to.include({ id, queue, state: "failed" });
      expect(answer.headers["x-task-state"]).to.equal("failed");
      const monitor = await server.send(`/v1/requests/${id}/status`);
      expect(monitor.json.error.code).to.equal(code);
      for (const { text } of [answer, monitor]) expect(text).not.to.match(/hunter2|\/etc\/handler|\.ts\b|\bat /);
    }
  });

  it("giveUp: its status, title, detail, extensions and type, with the task's id and state", async () => {
    const problem = {
      status: 422,
      type: "https://e.example/p",
      title: "T",
      detail: "D",
      left: 3,
      id: "no",
      state: "no",
    };
    const own = await post("/v1/queues/giving-up/requests", problem);
    const id = own.headers["x-request-id"];
    expect([own.status, own.headers["x-task-state"]]).to.deep.equal([422, "failed"]);
    expect((await server.send(`/v1/requests/${id}`)).text).to.equal(own.text);
    expect(own.json).to.deep.equal({ ...problem, id, queue: "giving-up", state: "failed" });
    const bare = expectProblem(await post("/v1/queues/giving-up/requests", { detail: "D" }), 500, "task-failed");
    expect(bare.json.detail).to.equal("D");
    const typed = await post("/v1/queues/giving-up/requests", { type: "https://e.example/p" });
    expect([typed.status, typed.json.type]).to.deep.equal([500, "https://e.example/p"]);
    expect((await server.send("/v1/queues/giving-up")).json.dead).to.equal(0);
  });

  it("401, 403 and 429: keys and limits", async () => {
    const keys = testKeys({ a: ["submit"] });
    const guarded = await startServer({ ...keys.env, RATE_LIMIT: "3/1h" });
    try {
      expectProblem(await guarded.send("/v1/queues"), 401, "unauthenticated");
      expectProblem(await guarded.send("/metrics", { headers: keys.as("a") }), 403, "forbidden");
      for (let n = 0; n < 2; n += 1) await guarded.send("/v1/queues", { headers: keys.as("a") });
      expectProblem(await guarded.send("/v1/queues", { headers: keys.as("a") }), 429, "rate-limited");
    } finally {
      await guarded.stop();
    }
  });

  it("429: a caller with too many tasks", async () => {
    const gate = closedGate();
    // The other process has no small MAX_WAITING.
    const sent = { method: "POST", headers: { Prefer: "respond-async" }, body: gate.input };
    const submit = () => impatient.send("/v1/queues/limited/requests", sent);
    await submit();
    await gate.entered;
    for (let n = 0; n < 2; n += 1) await submit();
    expectProblem(await submit(), 429, "too-many-tasks");
    gate.open();
  });

  it("has no unused code", () => {
    expect([...seen, ...ELSEWHERE]).to.have.members(errorEntries.map(({ code }) => code));
  });
});
