import { expect } from "chai";
import { closedGate } from "../../helpers/gates.ts";
import { type Answer, startServer, type TestServer } from "../../helpers/http/server.ts";

const METHODS = ["GET", "POST", "PUT", "DELETE"] as const;

describe("the contract: allocated ids in every state, with every method", () => {
  let server: TestServer;
  before(async () => {
    server = await startServer();
  });
  after(() => server.stop());

  const allocate = async (queue: string): Promise<string> => {
    const { status, headers, json } = await server.send(`/api/v1/task?queue=${queue}`);
    expect([status, Object.keys(json), headers.location]).to.deep.equal([200, ["id"], `/api/v1/task/${json.id}`]);
    return json.id;
  };
  const send = (method: string, id: string, input?: unknown) =>
    server.send(`/api/v1/task/${id}`, { method, ...(input !== undefined && { body: input }) });
  const expectTask = (answer: Answer, status: number, state: string) => {
    expect([answer.status, answer.json.status], answer.text).to.deep.equal([status, state]);
    expect(Object.keys(answer.json).slice(0, 4)).to.deep.equal(["id", "status", "progress", "eta"]);
    const pending = state !== "succeeded" && state !== "allocated";
    if (pending) expect(answer.headers["retry-after"]).to.match(/^[1-9]\d*$/);
    if (pending) expect(answer.json.progress).to.be.within(0, 99);
  };
  const expectConflict = (answer: Answer) =>
    expect([answer.status, answer.json.type]).to.deep.equal([409, "/problems/id-conflict"]);
  const expectInvalid = async (id: string, reason: string) => {
    for (const method of METHODS) {
      const answer = await send(method, id, { n: 1 });
      expect([answer.status, answer.json.type, answer.json.reason], method).to.deep.equal([
        ...[410, "/problems/invalid-task", reason],
      ]);
      expect("error" in answer.json).to.equal(reason === "failed");
    }
  };

  it("allocated: GET 200, DELETE 204 and then 404; PUT submits the first input, like POST", async () => {
    const [dropped, put] = [await allocate("default"), await allocate("default")];
    const look = await send("GET", dropped);
    expectTask(look, 200, "allocated");
    expect(look.json).to.include({ progress: 0, eta: null });
    expect((await send("DELETE", dropped)).status).to.equal(204);
    for (const method of METHODS) expect((await send(method, dropped, {})).json.type).to.equal("/problems/unknown");
    expect((await send("PUT", put, {})).status).to.equal(202);
  });

  it("waiting and scheduled: GET 202, POST the same 202 and another 409, PUT replaces, DELETE 204", async () => {
    const front = closedGate();
    await server.enqueue("gated", front.input);
    await front.entered;
    for (const [state, search] of [["waiting", ""] as const, ["scheduled", "?delay=600"] as const]) {
      const id = await allocate("gated");
      const first = await server.send(`/api/v1/task/${id}${search}`, { method: "POST", body: { gate: "none" } });
      expectTask(first, 202, state);
      expectTask(await send("POST", id, { gate: "none" }), 202, state);
      expectConflict(await send("POST", id, { gate: "other" }));
      expectTask(await send("GET", id), 202, state);
      expectTask(await send("PUT", id, { gate: "other" }), 200, state);
      expectTask(await send("POST", id, { gate: "other" }), 202, state);
      expectConflict(await send("POST", id, { gate: "none" }));
      expect((await send("DELETE", id)).status).to.equal(204);
      await expectInvalid(id, "canceled");
    }
    front.open();
  });

  it("running: GET 202, POST the same 202 and another 409, PUT another 409, DELETE 202 until it has ended", async () => {
    const gate = closedGate();
    const id = await allocate("gated");
    expect((await send("POST", id, gate.input)).status).to.equal(202);
    await gate.entered;
    expectTask(await send("GET", id), 202, "running");
    expectTask(await send("POST", id, gate.input), 202, "running");
    expectConflict(await send("POST", id, { gate: "other" }));
    expectConflict(await send("PUT", id, { gate: "other" }));
    const answer = await send("DELETE", id);
    expect(answer.status).to.be.oneOf([202, 204]);
    await server.until(id, "canceled");
    await expectInvalid(id, "canceled");
  });

  it("retrying: GET 202, PUT another 409, DELETE 204", async () => {
    const gate = closedGate();
    const id = await allocate("gated-too");
    await send("POST", id, gate.input);
    await gate.entered;
    gate.break(new Error("once more"));
    await server.until(id, "retrying");
    expectTask(await send("GET", id), 202, "retrying");
    expectConflict(await send("PUT", id, { gate: "other" }));
    expect((await send("DELETE", id)).status).to.equal(204);
    await expectInvalid(id, "canceled");
  });

  it("succeeded: GET 200 with the result, POST the same 202 and another 409, PUT another 409, DELETE 204", async () => {
    const id = await allocate("default");
    await send("POST", id, { n: 1 });
    await server.until(id, "succeeded");
    const done = await send("GET", id);
    expectTask(done, 200, "succeeded");
    expect(done.json).to.include({ progress: 100, eta: null });
    expect(done.json.result.input).to.deep.equal({ n: 1 });
    expectTask(await send("POST", id, { n: 1 }), 202, "succeeded");
    expectConflict(await send("POST", id, { n: 2 }));
    expectConflict(await send("PUT", id, { n: 2 }));
    expect((await send("DELETE", id)).status).to.equal(204);
    await expectInvalid(id, "deleted");
  });

  it("failed: 410 invalid-task with the error, by every method, and with the problem of giveUp", async () => {
    const [dead, gaveUp] = [await allocate("failing"), await allocate("giving-up")];
    await send("POST", dead, {});
    await send("POST", gaveUp, { status: 422, detail: "Not an image" });
    for (const id of [dead, gaveUp]) await server.until(id, "failed");
    await expectInvalid(dead, "failed");
    expect((await send("GET", gaveUp)).json.error).to.deep.equal({ code: "task-failed", message: "Not an image" });
  });

  it("never allocated: 404 unknown by every method, also for the id of an ordinary task", async () => {
    const id = await server.enqueue("default", {});
    for (const other of [id, "nobody", "a-00000000-0000-4000-8000-000000000000", "a b"]) {
      for (const method of METHODS) {
        const answer = await send(method, encodeURIComponent(other), {});
        expect([answer.status, answer.json.type], `${method} ${other}`).to.deep.equal([404, "/problems/unknown"]);
      }
    }
  });
});
