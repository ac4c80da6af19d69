import { expect } from "chai";
import { closedGate } from "../../helpers/gates.ts";
import { startServer, type TestServer } from "../../helpers/http/server.ts";
import { eventually } from "../../shared/eventually.ts";

/** PayPal's asynchronous operations: a client says what it wants of the monitor once the work is done, and until then. */
describe("the options of the monitor", () => {
  let server: TestServer;
  before(async () => {
    server = await startServer({ SYNC_LIMIT: "300ms" });
  });
  after(() => server.stop());
  const look = (id: string, search = "", headers: Record<string, string> = {}) =>
    server.send(`/v1/requests/${id}/status${search}`, { headers });
  const done = async (queue: string, input: unknown) => {
    const id = await server.enqueue(queue, input);
    await eventually(async () => (await look(id)).status === 200);
    return id;
  };

  it("synchronous: waits until the task has ended, then the document, redirect or result", async () => {
    for (const [search, status] of [
      ["?onPending=synchronous", 200],
      ["?onPending=synchronous&onComplete=redirect", 303],
      ["?onPending=synchronous&onComplete=stream", 200],
    ] as const) {
      const gate = closedGate();
      const id = await server.enqueue("gated", gate.input);
      await gate.entered;
      const held = look(id, search);
      gate.open({ the: "result" });
      const answer = await held;
      expect(answer.status, search).to.equal(status);
      if (search.endsWith("stream")) expect(answer.json).to.deep.equal({ the: "result" });
      if (search.endsWith("synchronous")) expect(answer.json).to.include({ id, state: "succeeded" });
    }
  });

  it("are 400 if a value is unknown or repeated, naming the parameter, even for an unknown task", async () => {
    const id = await done("default", 1);
    for (const [search, parameter] of [
      ["?onComplete=later", "onComplete"],
      ["?onComplete=", "onComplete"],
      ["?onPending=wait", "onPending"],
      ["?onComplete=stream&oncomplete=redirect", "onComplete"],
    ] as const) {
      for (const task of [id, "nobody"]) {
        const answer = await look(task, search);
        expect(answer.status, search).to.equal(400);
        expect(answer.json).to.include({ type: "/problems/invalid-parameter", parameter });
      }
    }
  });
});
