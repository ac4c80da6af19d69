import { expect } from "chai";
import { closedGate } from "../../helpers/gates.ts";
import { startServer, type TestServer } from "../../helpers/http/server.ts";

/** RFC 9110 §13.1.2 (If-None-Match) with RFC 7240 §4.3 (wait): an answer when there is something new. */
describe("the conditional long poll of the monitor", () => {
  let server: TestServer;
  before(async () => {
    server = await startServer();
  });
  after(() => server.stop());
  const look = (id: string, headers: Record<string, string> = {}) =>
    server.send(`/v1/requests/${id}/status`, { headers });
  const poll = (id: string, etag: string, prefer = "wait=20") => look(id, { "If-None-Match": etag, Prefer: prefer });
  const tagOf = async (id: string) => String((await look(id)).headers.etag);

  it("answers as soon as the state changes, with Preference-Applied", async () => {
    const gate = closedGate();
    const id = await server.enqueue("gated", gate.input);
    await gate.entered;
    const held = poll(id, await tagOf(id));
    await server.untilHeld(id);
    gate.open("done");
    const answer = await held;
    expect(answer.status).to.equal(200);
    expect(answer.json).to.include({ id, state: "succeeded" });
    expect(answer.headers["preference-applied"]).to.equal("wait=20");
  });

  it("answers as soon as progress is reported or cancel is requested", async () => {
    const gate = closedGate();
    const id = await server.enqueue("gated", gate.input);
    const task = await gate.entered;
    const first = poll(id, await tagOf(id));
    await server.untilHeld(id);
    task.progress(10, "begun");
    const progress = await first;
    expect(progress.json.progress).to.include({ percent: 10, message: "begun" });
    const second = poll(id, String(progress.headers.etag));
    await server.untilHeld(id);
    await server.send(`/v1/requests/${id}`, { method: "DELETE" });
    const { json } = await second;
    expect(json.cancelRequested || json.state === "canceled", json.state).to.equal(true);
    await server.until(id, "canceled");
  });

  it("answers if the place in line changes because others have started", async () => {
    const gates = [closedGate(), closedGate(), closedGate()] as const;
    for (const gate of gates.slice(0, 2)) await server.enqueue("gated", gate.input);
    await gates[0].entered;
    const id = await server.enqueue("gated", gates[2].input);
    const before = await look(id);
    expect(before.json.index).to.equal(1);
    const held = poll(id, String(before.headers.etag));
    await server.untilHeld(id);
    gates[0].open();
    const answer = await held;
    expect(answer.status).to.equal(202);
    expect(answer.json.index).to.equal(0);
    for (const gate of gates) gate.open();
    await server.until(id, "succeeded");
  });

  it("does not wait for estimates and counts", async () => {
    const gate = closedGate();
    await server.enqueue("gated", gate.input);
    await gate.entered;
    const id = await server.enqueue("gated", gate.input);
    const held = poll(id, await tagOf(id), "wait=1");
    await server.untilHeld(id);
    for (let n = 0; n < 5; n += 1) await server.enqueue("gated", gate.input);
    expect((await held).status).to.equal(304);
    gate.open();
  });

  it("answers 304 when the time is up, with Preference-Applied and the version", async () => {
    const id = await server.enqueue("default", 1, "?delay=3600");
    const etag = await tagOf(id);
    const began = performance.now();
    const answer = await poll(id, etag, "wait=1");
    expect(performance.now() - began).to.be.within(950, 5000);
    expect([answer.status, answer.text]).to.deep.equal([304, ""]);
    expect(answer.headers).to.include({ etag, "preference-applied": "wait=1" });
  });

  it("serves many waiting callers with few reads, and answers all when the server stops", async () => {
    const warnings: string[] = [];
    const note = (warning: Error) => warnings.push(warning.name);
    process.on("warning", note);
    const other = await startServer({ ROLE: "api", KEY_PREFIX: server.prefix });
    const id = await server.enqueue("default", 1, "?delay=3600");
    const etag = await tagOf(id);
    const headers = { "If-None-Match": etag, Prefer: "wait=25" };
    const held = Array.from({ length: 100 }, () => other.send(`/v1/requests/${id}/status`, { headers }));
    await server.untilHeld(id);
    // Connections are taken in their order: the others have been before this one.
    expect((await other.send("/healthz")).status).to.equal(200);
    await other.stop({ keep: true });
    for (const answer of await Promise.all(held)) expect(answer.status).to.equal(304);
    process.off("warning", note);
    expect(warnings, "a listener for each caller on what lives as long as the server").to.deep.equal([]);
  });
});
