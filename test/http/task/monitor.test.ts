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

  it("is available at PayPal's path too", async () => {
    const id = await server.enqueue("default", 1, "?delay=3600");
    const answer = await server.send(`/v1/queue/requests/${id}`);
    expect(answer.status).to.equal(202);
    expect(answer.json).to.include({ id, state: "scheduled", index: null, ahead: null });
    expect(answer.json.eta.basis).to.equal("schedule");
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

  it("answers 200 once a task is terminal, also if it failed or was canceled", async () => {
    const succeeded = (await server.post("default", 1)).json.id;
    const failed = String(
      (await server.post("giving-up", { title: "No", detail: "Because." })).headers["x-request-id"],
    );
    const canceled = await server.enqueue("default", 1, "?delay=3600");
    await server.send(`/v1/requests/${canceled}`, { method: "DELETE" });

    const done = await look(succeeded);
    expect(done.status).to.equal(200);
    expect(done.json).to.include({ state: "succeeded", index: null, ahead: null, attempt: 1, error: null, eta: null });
    for (const time of ["createdAt", "startedAt", "finishedAt", "expiresAt"]) expect(done.json[time]).to.match(RFC3339);
    expect(Date.parse(done.json.expiresAt) - Date.parse(done.json.finishedAt)).to.equal(3_600_000);
    expect(rels(done)).to.deep.equal(["self", "result", "delete"]);
    expect(done.headers).to.not.have.any.keys("retry-after", "location");

    const lost = await look(failed);
    expect(lost.status).to.equal(200);
    expect(lost.json).to.deep.include({ state: "failed", error: { code: "task-failed", message: "Because." } });
    expect(rels(lost)).to.include("result");

    const stopped = await look(canceled);
    expect(stopped.status).to.equal(200);
    expect(stopped.json).to.include({ state: "canceled", startedAt: null, expiresAt: null });
    expect(stopped.json.error.code).to.equal("canceled");
    expect(stopped.json.error.message).to.be.a("string").and.not.equal("");
    expect(rels(stopped)).to.deep.equal(["self"]);
  });

  it("has the code of a failure from the catalogue, and a message that is never empty", async () => {
    for (const [queue, code] of [
      ["failing", "task-failed"],
      ["late", "task-timeout"],
    ] as const) {
      const id = await server.enqueue(queue, 1);
      const { json } = await server.until(id, "failed");
      expect(json.error.code).to.equal(code);
      expect(json.error.message).to.be.a("string").and.not.equal("");
    }
  });

  it("answers 404 for an unknown id", async () => {
    for (const path of ["/v1/requests/nobody/status", "/v1/queue/requests/nobody", "/v1/requests/-odd/status"]) {
      const answer = await server.send(path);
      expect(answer.status).to.equal(404);
      expect(answer.json).to.include({ type: "/problems/unknown", index: null });
    }
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
