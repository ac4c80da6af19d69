import { expect } from "chai";
import { closedGate } from "../../helpers/gates.ts";
import { startServer, type TestServer } from "../../helpers/http/server.ts";

describe("the server-allocated dialect over HTTP", () => {
  let server: TestServer;
  before(async () => {
    server = await startServer({ PARTITIONS: "2" });
  });
  after(() => server.stop());

  const allocate = async (queue?: string): Promise<string> => {
    const answer = await server.send(`/api/v1/task${queue === undefined ? "" : `?queue=${queue}`}`);
    expect(answer.status).to.equal(200);
    expect(Object.keys(answer.json)).to.deep.equal(["id"]);
    expect(answer.headers).to.include({ location: `/api/v1/task/${answer.json.id}`, "cache-control": "no-store" });
    return answer.json.id;
  };
  const ask = (id: string, method = "GET", body?: unknown) => server.send(`/api/v1/task/${id}`, { method, body });
  const until = (id: string, state: string) => server.until(id, state);

  it("allocates an id, accepts its input, and shows the result: allocated, pending, succeeded", async () => {
    const gate = closedGate();
    const id = await allocate("gated");
    const before = await ask(id);
    expect([before.status, before.json]).to.deep.equal([200, { id, status: "allocated", progress: 0, eta: null }]);

    const posted = await ask(id, "POST", gate.input);
    expect(posted.status).to.equal(202);
    expect(posted.json).to.have.all.keys("id", "status", "progress", "eta");
    expect(posted.json).to.include({ id, progress: 0 });
    expect(posted.headers).to.include({ location: `/api/v1/task/${id}`, "x-request-id": id });
    expect(posted.headers["retry-after"]).to.match(/^[1-9]\d*$/);

    const task = await gate.entered;
    task.progress(42.9, "on the way");
    const running = await eventuallyAt(id, 42);
    expect(running.status).to.equal(202);
    expect(running.json).to.include({ status: "running", progress: 42 });
    task.progress(100);
    await eventuallyAt(id, 99);
    gate.open({ large: [1, 2], text: "ü" });
    await until(id, "succeeded");
    const done = await ask(id);
    expect(done.status).to.equal(200);
    expect(done.headers["content-type"]).to.equal("application/json; charset=utf-8");
    expect(done.json).to.deep.equal({
      id,
      status: "succeeded",
      progress: 100,
      eta: null,
      result: { large: [1, 2], text: "ü" },
    });
  });

  /** Asks until the task has come this far. */
  const eventuallyAt = async (id: string, progress: number) => {
    for (;;) {
      const answer = await ask(id);
      if (answer.json.progress === progress) return answer;
      if (answer.status !== 202) throw new Error(`${answer.status} ${answer.text}`);
    }
  };

  it("uses the queue default unless another one that takes JSON is requested", async () => {
    const id = await allocate();
    await ask(id, "POST", '"hello"');
    await until(id, "succeeded");
    expect((await ask(id)).json.result).to.include({ input: "hello", id });
    expect((await server.send("/api/v1/task?queue=nowhere")).json.type).to.equal("/problems/unknown-queue");
    const images = await server.send("/api/v1/task?queue=images");
    expect([images.status, images.json.parameter]).to.deep.equal([400, "queue"]);
    expect((await server.send("/api/v1/task?queue=a&queue=b")).json.parameter).to.equal("queue");
  });

  it("answers the same input with the same response, and another with 409", async () => {
    const gate = closedGate();
    const id = await allocate("gated");
    const first = await ask(id, "POST", gate.input);
    const again = await ask(id, "POST", gate.input);
    expect([again.status, again.json.id]).to.deep.equal([first.status, id]);
    const other = await ask(id, "POST", { gate: "another" });
    expect(other.status).to.equal(409);
    expect(other.json).to.include({ type: "/problems/id-conflict", id });
    gate.open("once");
    await until(id, "succeeded");
    const late = await ask(id, "POST", gate.input);
    expect([late.status, late.json.status, late.json.progress]).to.deep.equal([202, "succeeded", 100]);
    expect((await ask(id)).json.result).to.equal("once");
  });

  it("replaces the input by PUT while the task waits, and answers 409 later", async () => {
    const gate = closedGate();
    const running = await allocate("gated-too");
    expect((await ask(running, "PUT", gate.input)).status).to.equal(202);
    await gate.entered;
    const waiting = await allocate("gated-too");
    await ask(waiting, "POST", { gate: "will be replaced" });
    const replaced = await ask(waiting, "PUT", gate.input);
    expect(replaced.status).to.equal(200);
    expect(replaced.json).to.include({ id: waiting, status: "waiting", progress: 0 });
    expect((await ask(running, "PUT", { gate: "too late" })).json.type).to.equal("/problems/id-conflict");
    gate.open("both");
    await until(waiting, "succeeded");
    expect((await ask(waiting, "PUT", { gate: "too late" })).status).to.equal(409);
  });

  it("cancels a waiting task with 204, a running one with 202 until it has ended; then it is invalid", async () => {
    const gate = closedGate();
    const running = await allocate("gated-too");
    await ask(running, "POST", gate.input);
    await gate.entered;
    const waiting = await allocate("gated-too");
    await ask(waiting, "POST", gate.input);
    const canceled = await ask(waiting, "DELETE");
    expect([canceled.status, canceled.text]).to.deep.equal([204, ""]);
    const asked = await ask(running, "DELETE");
    expect(asked.status).to.be.oneOf([202, 204]);
    if (asked.status === 202) expect(asked.json).to.include({ id: running, status: "running" });
    await until(running, "canceled");
    for (const id of [waiting, running]) {
      for (const [method, body] of [["GET"], ["POST", 1], ["PUT", 1], ["DELETE"]] as const) {
        const answer = await ask(id, method, body);
        expect(answer.status, method).to.equal(410);
        expect(answer.json).to.include({ type: "/problems/invalid-task", status: 410, id, reason: "canceled" });
      }
    }
  });

  it("deletes finished tasks and unused ids; both are unknown afterwards", async () => {
    const done = await allocate();
    await ask(done, "POST", 1);
    await until(done, "succeeded");
    expect((await ask(done, "DELETE")).status).to.equal(204);
    expect((await ask(done)).json).to.include({ type: "/problems/invalid-task", reason: "deleted" });
    const unused = await allocate();
    expect((await ask(unused, "DELETE")).status).to.equal(204);
    expect((await ask(unused)).json.type).to.equal("/problems/unknown");
  });

  it("answers every method with 410 invalid-task and the error if the task failed", async () => {
    const id = await allocate("giving-up");
    const input = { status: 422, title: "Not an image", detail: "it is a text" };
    await ask(id, "POST", input);
    await until(id, "failed");
    for (const [method, body] of [["GET"], ["POST", input], ["PUT", input], ["DELETE"]] as const) {
      const answer = await ask(id, method, body);
      expect(answer.status, method).to.equal(410);
      expect(answer.json).to.deep.include({
        type: "/problems/invalid-task",
        reason: "failed",
        error: { code: "task-failed", message: "it is a text" },
      });
    }
  });

  it("distinguishes an expired result from an unknown task", async () => {
    const id = await allocate("brief");
    await ask(id, "POST", 1);
    const expired = await untilStatus(id, 410);
    expect(expired.json).to.include({ type: "/problems/expired", id, state: "succeeded" });
    expect(expired.json.expiredAt).to.be.a("string");
  });

  /** Asks until this is the status. */
  const untilStatus = async (id: string, status: number) => {
    for (;;) {
      const answer = await ask(id);
      if (answer.status === status) return answer;
    }
  };

  it("shows a result that is not JSON as the address of its bytes, and none as null", async () => {
    const result = async (kind: string) => {
      const id = await allocate("answers");
      await ask(id, "POST", { kind });
      await until(id, "succeeded");
      return { id, ...(await ask(id)).json };
    };
    const text = await result("text");
    expect(text).to.include({
      result: null,
      contentType: "text/plain; charset=utf-8",
      href: `/v1/requests/${text.id}`,
    });
    for (const kind of ["nothing", "empty", "null"]) expect(await result(kind)).to.include({ result: null });
    expect((await result("created")).result).to.deep.equal({ made: true });
  });

  it("does not know ids that it did not allocate", async () => {
    const other = await server.enqueue("default", 1);
    for (const id of [other, "a-00000000-0000-4000-8000-000000000000", "x", "A-0"]) {
      for (const [method, body] of [["GET"], ["POST", 1], ["PUT", 1], ["DELETE"]] as const) {
        const answer = await ask(id, method, body);
        expect(answer.status, `${method} ${id}`).to.equal(404);
        expect(answer.json).to.include({ type: "/problems/unknown", index: null });
      }
    }
  });

  it("validates the input before it is stored, and keeps the id for a valid one", async () => {
    const id = await allocate("checked");
    expect((await ask(id, "POST", { width: 0 })).json).to.include({ type: "/problems/invalid-input", status: 400 });
    expect((await ask(id, "POST", "{")).json).to.include({ type: "/problems/malformed-json" });
    expect((await ask(id)).json.status).to.equal("allocated");
    expect((await ask(id, "POST", { width: 7 })).status).to.equal(202);
    await until(id, "succeeded");
    expect((await ask(id)).json.result).to.deep.equal({ width: 7 });
  });
});
