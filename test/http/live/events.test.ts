import { expect } from "chai";
import { closedGate } from "../../helpers/gates.ts";
import { type EventReader, readEvents, type StreamEvent } from "../../helpers/http/events.ts";
import { startServer, type TestServer } from "../../helpers/http/server.ts";

/** WHATWG HTML §9.2: Server-Sent Events. */
describe("the events of a task", () => {
  let server: TestServer;
  const open: EventReader[] = [];
  before(async () => {
    server = await startServer();
  });
  afterEach(() => {
    for (const reader of open.splice(0)) reader.close();
  });
  after(() => server.stop());
  const follow = async (id: string, search = "", headers: Record<string, string> = {}) => {
    const reader = await readEvents(`${server.url}/v1/requests/${id}/events${search}`, headers);
    open.push(reader);
    return reader;
  };
  const states = (events: readonly StreamEvent[]) => events.map((event) => `${event.name} ${event.json.state}`);

  it("begin with retry and the current state, and continue with each change until done; then the server closes", async () => {
    const gate = closedGate();
    const id = await server.enqueue("gated", gate.input);
    const task = await gate.entered;
    const stream = await follow(id);
    expect(stream.status).to.equal(200);
    expect(stream.headers).to.include({
      "content-type": "text/event-stream",
      "cache-control": "no-cache, no-transform",
      "x-accel-buffering": "no",
    });
    expect(stream.headers["x-request-id"]).to.be.a("string");
    expect(stream.headers.vary).to.contain("Prefer");
    const first = await stream.next();
    expect(first.name).to.equal("status");
    expect(stream.text.startsWith("retry: 2000\nevent: status\n")).to.equal(true);
    expect(first.json).to.include({ id, state: "running", index: 0 });
    expect(first.id).to.match(/^[\w-]+$/);
    task.progress(50, "half");
    const second = await stream.next();
    expect(second.json.progress).to.deep.equal({ percent: 50, message: "half", estimated: false });
    expect(second.id).to.not.equal(first.id);
    gate.open("result");
    expect(states(await stream.until("done"))).to.deep.equal(["status succeeded", "done succeeded"]);
    await stream.closed;
  });

  it("carry the monitor's document, with its ETag's version as the id", async () => {
    const id = await server.enqueue("default", 1, "?delay=3600");
    const stream = await follow(id);
    const event = await stream.next();
    const monitor = await server.send(`/v1/requests/${id}/status`);
    expect({ ...event.json, eta: null }).to.deep.equal({ ...monitor.json, eta: null });
    expect(monitor.headers.etag).to.equal(`W/"${event.id}"`);
    expect(event.json.links).to.deep.include({ rel: "events", href: `/v1/requests/${id}/events`, method: "GET" });
  });

  it("report changes of the place in line, at most once a second", async () => {
    const gates = Array.from({ length: 4 }, closedGate);
    for (const gate of gates) await server.enqueue("gated", gate.input);
    await gates[0]?.entered;
    const last = closedGate();
    const id = await server.enqueue("gated", last.input);
    const stream = await follow(id);
    expect((await stream.next()).json.index).to.equal(3);
    const times: number[] = [];
    for (const gate of gates) gate.open();
    let event: StreamEvent;
    do {
      event = await stream.next();
      if (event.json.state === "waiting") times.push(performance.now());
    } while (event.json.state === "waiting");
    for (const [n, time] of times.entries()) if (n > 0) expect(time - (times[n - 1] ?? 0)).to.be.above(900);
    last.open();
    await stream.until("done");
  });

  it("of a finished task are its state and done; a client that already has them gets 204, by header or query", async () => {
    const id = (await server.post("default", 1)).json.id;
    const stream = await follow(id);
    const events = await stream.until("done");
    await stream.closed;
    expect(states(events)).to.deep.equal(["status succeeded", "done succeeded"]);
    expect(events[0]?.id, "not yet the end").to.equal(undefined);
    const known = events[1]?.id ?? "";
    expect((await follow(id, "", { "Last-Event-ID": known })).status).to.equal(204);
    expect((await follow(id, `?lastEventId=${known}`)).status).to.equal(204);
    const missed = await follow(id, "", { "Last-Event-ID": "an-older-one" });
    expect(missed.status).to.equal(200);
    expect((await missed.until("done")).at(-1)?.id).to.equal(known);
  });
});
