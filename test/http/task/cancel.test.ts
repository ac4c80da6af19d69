import { expect } from "chai";
import { closedGate } from "../../helpers/gates.ts";
import { startServer, type TestServer } from "../../helpers/http/server.ts";

describe("canceling: DELETE /v1/requests/{id}", () => {
  let server: TestServer;
  before(async () => {
    server = await startServer();
  });
  after(() => server.stop());
  const cancel = (id: string) => server.send(`/v1/requests/${id}`, { method: "DELETE" });

  it("answers with the task and its queue at one instant, however soon its handler settles", async () => {
    for (let n = 0; n < 60; n += 1) {
      const id = await server.enqueue("heeding", null);
      await server.until(id, "running");
      const { status, json } = await cancel(id);
      expect([status, json.state, json.running]).to.deep.equal([202, "running", 1]);
      expect(json).to.include({ index: 0, cancelRequested: true, finishedAt: null });
      await server.until(id, "canceled");
    }
  });

  it("answers a caller who waits for the task at once", async () => {
    const gate = closedGate();
    const waiting = server.post("gated-too", gate.input, { "X-Request-Id": "awaited" });
    await gate.entered;
    await cancel("awaited");
    expect((await waiting).json).to.include({ type: "/problems/canceled", status: 410 });
  });
});
