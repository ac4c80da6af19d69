import { expect } from "chai";
import { closedGate } from "../../helpers/gates.ts";
import { startServer, type TestServer } from "../../helpers/http/server.ts";

describe("the monitor", () => {
  let server: TestServer;
  before(async () => {
    server = await startServer();
  });
  after(() => server.stop());
  const look = (id: string) => server.send(`/v1/requests/${id}/status`);

  it("shows the progress that the handler reported, and its message", async () => {
    const gate = closedGate();
    const id = await server.enqueue("gated", gate.input);
    const task = await gate.entered;
    task.progress(40, "halfway — almost");
    const reported = async (): Promise<Awaited<ReturnType<typeof look>>> => {
      const answer = await look(id);
      return answer.json.progress?.estimated === false ? answer : reported();
    };
    const answer = await reported();
    expect(answer.status).to.equal(202);
    expect(answer.json).to.include({ state: "running", index: 0, ahead: 0, attempt: 1 });
    expect(answer.json.progress).to.deep.equal({ percent: 40, message: "halfway — almost", estimated: false });
    expect(answer.json.eta).to.include({ seconds: 0, basis: "running" });
    gate.open();
    const done = await server.until(id, "succeeded");
    expect(done.json.progress).to.deep.equal({ percent: 100, message: null, estimated: false });
  });

  it("keeps its ETag while only estimates and counts change, and changes it with state, index and progress", async () => {
    const gate = closedGate();
    await server.enqueue("gated", gate.input);
    const task = await gate.entered;
    const first = await server.enqueue("gated", gate.input);
    const id = await server.enqueue("gated", gate.input);
    const tag = async () => String((await look(id)).headers.etag);
    const before = await tag();
    expect((await look(id)).json).to.include({
      index: 1,
      ahead: 2,
      running: 1,
      waiting: 2,
      attempt: 0,
      maxAttempts: 1,
    });
    await server.enqueue("gated", gate.input);
    expect(await tag(), "one more behind it").to.equal(before);
    await server.send(`/v1/requests/${first}`, { method: "DELETE" });
    const moved = await tag();
    expect(moved, "one place ahead").to.not.equal(before);
    task.progress(1);
    gate.open("done");
    await server.until(id, "succeeded");
    expect(await tag()).to.not.equal(moved);
  });
});
