import { expect } from "chai";
import { task } from "../../../src/wire/task.ts";
import { closedGate } from "../../helpers/gates.ts";
import { startServer, type TestServer } from "../../helpers/http/server.ts";

const MEMBERS = Object.keys(task.shape);

const RFC3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

describe("the monitor", () => {
  let server: TestServer;
  before(async () => {
    server = await startServer();
  });
  after(() => server.stop());
  const look = (id: string) => server.send(`/v1/requests/${id}/status`);
  const rels = (answer: { json: { links: { rel: string }[] } }) => answer.json.links.map((link) => link.rel);

  it("answers 202 while a task waits, with Retry-After, a Location to itself and every member of its document", async () => {
    const gate = closedGate();
    await server.enqueue("gated", gate.input);
    await gate.entered;
    await server.enqueue("gated", gate.input);
    const id = await server.enqueue("gated", gate.input);
    const answer = await look(id);
    expect(answer.status).to.equal(202);
    expect(answer.headers["content-type"]).to.match(/^application\/json/);
    expect(answer.headers).to.include({ location: `/v1/requests/${id}/status`, "cache-control": "no-store" });
    expect(answer.headers["retry-after"]).to.match(/^[1-9]\d*$/);
    expect(Object.keys(answer.json)).to.deep.equal(MEMBERS);
    expect(answer.json).to.include({ id, queue: "gated", state: "waiting", status: "waiting" });
    expect(answer.json).to.include({ index: 1, ahead: 2, running: 1, waiting: 2, attempt: 0, maxAttempts: 1 });
    expect(answer.json).to.include({ cancelRequested: false, progress: null, startedAt: null, finishedAt: null });
    expect(answer.json).to.include({ expiresAt: null, error: null });
    expect(answer.json.createdAt).to.match(RFC3339);
    expect(rels(answer)).to.include.members(["self", "monitor", "cancel"]);
    gate.open("done");
    await server.until(id, "succeeded");
  });

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
    expect(answer.json.startedAt).to.match(RFC3339);
    expect(answer.json.eta).to.include({ seconds: 0, basis: "running" });
    gate.open();
    const done = await server.until(id, "succeeded");
    expect(done.json.progress).to.deep.equal({ percent: 100, message: null, estimated: false });
  });

  it("estimates progress from past service times, up to 99", async () => {
    const earlier = closedGate();
    const first = await server.enqueue("gated-too", earlier.input);
    // Looked at over HTTP, so that it has taken more than no time at all.
    await server.until(first, "running");
    earlier.open("done");
    await server.until(first, "succeeded");
    const gate = closedGate();
    const id = await server.enqueue("gated-too", gate.input);
    await gate.entered;
    const { progress } = (await look(id)).json;
    expect(progress).to.include({ message: null, estimated: true });
    expect(progress.percent).to.be.within(0, 99);
    gate.open();
  });

  it("keeps its ETag while only estimates and counts change, and changes it with state, index and progress", async () => {
    const gate = closedGate();
    await server.enqueue("gated", gate.input);
    const task = await gate.entered;
    const first = await server.enqueue("gated", gate.input);
    const id = await server.enqueue("gated", gate.input);
    const tag = async () => String((await look(id)).headers.etag);
    const before = await tag();
    expect(before).to.match(/^W\/"[^"]+"$/);
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
