import { expect } from "chai";
import { closedGate, openGates } from "../../helpers/gates.ts";
import type { TestServer } from "../../helpers/http/server.ts";
import { eventually } from "../../shared/eventually.ts";
import { modernClient, olderClient, type Response, type Send, startTools } from "./client.ts";

/** Calls the tool whose tasks wait for a gate. */
const callGated = (call: Send, gate: { readonly input: object }, more: object = {}, sent: Parameters<Send>[2] = {}) =>
  call("tools/call", { name: "gated", arguments: gate.input, ...more }, sent);

describe("calls of tools as tasks", () => {
  let server: TestServer;
  before(async () => {
    // The requests of a session do not say in which partition their tasks are.
    server = await startTools({ PARTITIONS: "3" });
  });
  after(() => server.stop());
  afterEach(openGates);

  const waiting = async () => (await server.send("/v1/queues/gated")).json.waiting;

  it("are answered at once in the newer revision, with their place, and polled to their result", async () => {
    const call = modernClient(server);
    const [first, second] = [closedGate(), closedGate()];
    const running = (await callGated(call, first)).result;
    expect(running).to.include({ resultType: "task", status: "working", statusMessage: "running", ttlMs: null });
    await first.entered;
    const { taskId, pollIntervalMs, statusMessage } = (await callGated(call, second)).result;
    expect(statusMessage).to.match(/^next in line/);
    expect(pollIntervalMs).to.be.a("number").above(0);
    // A client that polls as fast as it can.
    const stop = new AbortController();
    const polled: Response[] = [];
    const polling = (async () => {
      while (!stop.signal.aborted) polled.push(await call("tasks/get", { taskId }));
    })();
    expect((await call("tasks/update", { taskId, inputResponses: {} })).result.resultType).to.equal("complete");
    first.open();
    await second.entered;
    await eventually(async () => (await call("tasks/get", { taskId })).result.statusMessage.startsWith("running"));
    second.open("the end");
    const { result } = (await eventually(async () => {
      const got = await call("tasks/get", { taskId });
      return got.result.status === "completed" && got;
    })) as Response;
    stop.abort();
    await polling;
    expect(result).to.deep.include({ taskId, resultType: "complete", statusMessage: "succeeded" });
    expect(result.result).to.deep.include({ resultType: "complete", content: [{ type: "text", text: "the end" }] });
    expect(result.ttlMs).to.be.a("number");
    expect(result).not.to.have.property("pollIntervalMs");
    expect(new Set(polled.map(({ status }) => status))).to.eql(new Set([200]));
    expect((await call("tasks/get", { taskId: "no-such" })).error).to.include({ code: -32602 });
  });

  it("that fail are completed with an error, and canceled ones are cancelled", async () => {
    const call = modernClient(server);
    const [gate, next] = [closedGate(), closedGate()];
    const failing = (await callGated(call, gate)).result.taskId;
    await gate.entered;
    const canceled = (await callGated(call, next)).result.taskId;
    expect((await call("tasks/cancel", { taskId: canceled })).result).to.have.keys(["resultType", "_meta"]);
    expect((await call("tasks/get", { taskId: canceled })).result.status).to.equal("cancelled");
    gate.break(new Error("secret of the handler"));
    await server.until(failing, "failed");
    const { result } = await call("tasks/get", { taskId: failing });
    expect([result.status, result.result.isError]).to.eql(["completed", true]);
    expect(JSON.stringify(result)).not.to.include("secret");
    // What has ended stays as it is.
    expect((await call("tasks/cancel", { taskId: failing })).error).to.equal(undefined);
    expect((await call("tasks/get", { taskId: failing })).result.result.isError).to.equal(true);
  });

  it("are asked for in the older revision, whose result is waited for", async () => {
    const call = olderClient(server);
    const [gate, next] = [closedGate(), closedGate()];
    const { task } = (await callGated(call, gate, { task: { ttl: 60_000 } })).result;
    expect(task).to.include({ status: "working", ttl: null });
    await gate.entered;
    const result = call("tasks/result", { taskId: task.taskId });
    const other = (await callGated(call, next, { task: {} })).result.task.taskId;
    expect((await call("tasks/cancel", { taskId: other })).result.status).to.equal("cancelled");
    expect((await call("tasks/cancel", { taskId: other })).error.code).to.equal(-32602);
    gate.open({ n: 1 });
    expect((await result).result).to.deep.include({
      structuredContent: { n: 1 },
      _meta: { "io.modelcontextprotocol/related-task": { taskId: task.taskId } },
    });
    expect((await call("tasks/get", { taskId: task.taskId })).result.status).to.equal("completed");
  });

  it("run once for one idempotency key, which is that of the API, too", async () => {
    const gate = closedGate();
    const _meta = { idempotencyKey: "once" };
    const first = (await callGated(modernClient(server), gate, { _meta })).result.taskId;
    const again = await callGated(modernClient(server), gate, {}, { headers: { "Idempotency-Key": '"once"' } });
    expect(again.result.taskId).to.equal(first);
    const plain = await server.post("gated", gate.input, { "Idempotency-Key": "once", Prefer: "respond-async" });
    expect(plain.headers["x-request-id"]).to.equal(first);
    const held = callGated(olderClient(server), gate, { _meta });
    const other = await callGated(modernClient(server), closedGate(), { _meta });
    expect(other.result.isError).to.equal(true);
    expect(other.result.isError).to.equal(true);
    await gate.entered;
    gate.open("one run");
    expect((await held).result.content[0].text).to.equal("one run");
    const wrong = await callGated(modernClient(server), gate, { _meta: { idempotencyKey: 3 } });
    expect(wrong.error.code).to.equal(-32602);
  });

  it("are canceled if the client of a held call of the newer revision hangs up, and only then", async () => {
    const gate = closedGate();
    await server.enqueue("gated", gate.input);
    await gate.entered;
    const [modern, older] = [modernClient(server, {}, {}), olderClient(server)];
    const gone = [modern, older].map((call) => {
      const hangUp = new AbortController();
      const held = callGated(call, closedGate(), {}, { signal: hangUp.signal }).catch(() => undefined);
      return { hangUp, held };
    });
    await eventually(async () => (await waiting()) === 2);
    for (const { hangUp, held } of gone) {
      hangUp.abort();
      await held;
    }
    await eventually(async () => (await waiting()) === 1);
    const { items } = (await server.send("/v1/queues/gated/waiting")).json;
    expect(items[0].state, "a dropped connection means nothing in the older revision").to.equal("waiting");
    await server.send(`/v1/requests/${items[0].id}`, { method: "DELETE" });
  });

  it("are found again by the requests of a session of the older revision: to cancel one, and to repeat it", async () => {
    const gate = closedGate();
    await server.enqueue("gated", gate.input);
    await gate.entered;
    const session = (await olderClient(server)("initialize", { protocolVersion: "2025-11-25" })).headers.get(
      "mcp-session-id",
    );
    const call = olderClient(server, { "Mcp-Session-Id": String(session) });
    const next = closedGate();
    const calls = [callGated(call, next, {}, { id: 7 }), callGated(call, next, {}, { id: 7 })];
    await eventually(async () => (await waiting()) === 1);
    // Another session's request of this number is another one.
    await call("notifications/cancelled", { requestId: 7 }, { id: null, headers: { "Mcp-Session-Id": "other" } });
    expect(await waiting()).to.equal(1);
    await call("notifications/cancelled", { requestId: 7 }, { id: null });
    for (const { result } of await Promise.all(calls)) {
      expect(result.content[0].text).to.equal("canceled: The task was canceled.");
    }
    const reused = await call("tools/call", { name: "greet", arguments: { name: "you" } }, { id: 7 });
    expect(reused.result.content[0].text, "a number that is used twice for different calls").to.equal("Hello, you!");
  });

  it("outlive the server that has answered: a held call then goes on by check_task, at any process", async () => {
    const leaving = await startTools({ KEY_PREFIX: server.prefix, PARTITIONS: "3", DRAIN_TIMEOUT: "20s", ROLE: "api" });
    const gate = closedGate();
    const polled = (await callGated(modernClient(leaving), gate)).result.taskId;
    await gate.entered;
    const next = closedGate();
    const held = callGated(olderClient(leaving), next);
    await eventually(async () => (await waiting()) === 1);
    await leaving.stop({ keep: true });
    const { result } = await held;
    expect(result.content[0].text).to.match(/^The task goes on: next in line/);
    expect(result.content[1]).to.include({ type: "resource_link" });
    const { taskId: task_id } = result.structuredContent;
    const checking = olderClient(server)("tools/call", { name: "check_task", arguments: { task_id } });
    gate.open("first");
    await next.entered;
    next.open("second");
    expect((await checking).result.content[0].text).to.equal("second");
    expect((await modernClient(server)("tasks/get", { taskId: polled })).result.result.content[0].text).to.equal(
      "first",
    );
  });
});
