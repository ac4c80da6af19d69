import { expect } from "chai";
import { closedGate } from "../../helpers/gates.ts";
import { startServer, type TestServer } from "../../helpers/http/server.ts";

describe("a deadline (API: Options)", () => {
  let server: TestServer;
  before(async () => {
    server = await startServer();
  });
  after(() => server.stop());
  const get = (id: string) => server.send(`/v1/requests/${id}`);
  const monitor = (id: string) => server.send(`/v1/requests/${id}/status`);

  /** What everybody is told of a task that its deadline has canceled. */
  const checkCanceled = async (id: string) => {
    const answer = await get(id);
    expect(answer.status).to.equal(410);
    expect(answer.json).to.include({ type: "/problems/canceled", id, state: "canceled", reason: "deadline" });
    const { json } = await monitor(id);
    expect(json).to.include({ id, state: "canceled", index: null, cancelRequested: false });
    expect(json.error).to.include({ code: "deadline-passed" }).and.to.have.property("message").that.is.not.empty;
    expect(Date.parse(json.finishedAt)).to.be.at.least(Date.parse(json.deadlineAt));
    expect(Date.parse(json.deadlineAt)).to.be.above(Date.parse(json.createdAt));
  };

  it("takes a waiting, scheduled or retrying task out of the line: 410 canceled with the reason deadline", async () => {
    const gate = closedGate();
    await server.enqueue("gated", gate.input);
    await gate.entered;
    const waiting = await server.enqueue("gated", gate.input, "?deadline=1");
    const scheduled = await server.enqueue("default", 1, "?delay=1&deadline=1.5");
    await server.send("/v1/queues/default/pause", { method: "POST" });
    const retrying = await server.enqueue("later", 1, "?deadline=1");
    const behind = await server.enqueue("gated", gate.input);
    expect((await monitor(waiting)).json.deadlineAt).to.match(/^\d{4}-.*\.\d{3}Z$/);
    for (const id of [waiting, scheduled, retrying]) await server.until(id, "canceled");
    for (const id of [waiting, scheduled, retrying]) await checkCanceled(id);
    expect((await get(behind)).json.index).to.equal(0);
    expect((await monitor(behind)).json.deadlineAt).to.equal(null);
    gate.open();
    await server.send("/v1/queues/default/resume", { method: "POST" });
  });

  it("asks a running task to stop: its signal says deadline, and whoever waits gets the 410", async () => {
    const gate = closedGate();
    const headers = { "Cancel-After": "1s", "X-Request-Id": "running-late" };
    const answer = server.post("gated-too", gate.input, headers);
    const { signal } = await gate.entered;
    expect(await answer).to.deep.include({ status: 410 });
    expect((await answer).json).to.include({ type: "/problems/canceled", reason: "deadline" });
    expect(signal.reason.cause).to.equal("deadline");
    await checkCanceled("running-late");
  });

  it("tells a worker over HTTP to stop when it renews its lease", async () => {
    await server.send("/v1/queues/default/pause", { method: "POST" });
    await server.send("/v1/queues/default/resume", { method: "POST" });
    const api = await startServer({ ROLE: "api" });
    try {
      const id = await api.enqueue("default", 1, "?deadline=1");
      const { json } = await api.send("/v1/queues/default/leases", { method: "POST", body: {} });
      const [{ fence }] = json.items;
      const say = (verb: string, body: object) =>
        api.send(`/v1/leases/${id}/${verb}`, { method: "POST", body: { fence, ...body } });
      await api.send(`/v1/requests/${id}/status`, {
        headers: {
          Prefer: "wait=20",
          "If-None-Match": String((await api.send(`/v1/requests/${id}/status`)).headers.etag),
        },
      });
      expect((await say("renew", {})).json).to.include({ cancelRequested: true, reason: "deadline" });
      expect((await say("complete", { result: 1 })).json.verdict).to.equal("canceled");
      expect((await api.send(`/v1/requests/${id}`)).json.reason).to.equal("deadline");
    } finally {
      await api.stop();
    }
  });

  it("does not affect a task that ends in time", async () => {
    const { status, headers } = await server.post("default", 1, { "Cancel-After": "1h" });
    expect(status).to.equal(200);
    const { json } = await monitor(String(headers["x-request-id"]));
    expect(json).to.include({ state: "succeeded", error: null });
    expect(Date.parse(json.deadlineAt) - Date.parse(json.createdAt)).to.equal(3_600_000);
  });

  it("is dropped when a dead task is retried", async () => {
    const id = await server.enqueue("failing", 1, "?deadline=3600");
    await server.until(id, "failed");
    expect((await monitor(id)).json.deadlineAt).not.to.equal(null);
    const answer = await server.send(`/v1/requests/${id}/retry`, { method: "POST" });
    expect(answer.json.deadlineAt).to.equal(null);
  });
});
