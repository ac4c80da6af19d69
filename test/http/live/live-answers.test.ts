import { expect } from "chai";
import { closedGate } from "../../helpers/gates.ts";
import { type EventReader, readEvents, type StreamEvent } from "../../helpers/http/events.ts";
import { startServer, type TestServer } from "../../helpers/http/server.ts";

const EVENTS = { Accept: "text/event-stream" };

describe("output in the events of a task", () => {
  let server: TestServer;
  const open: EventReader[] = [];
  before(async () => {
    server = await startServer();
  });
  afterEach(() => {
    for (const reader of open.splice(0)) reader.close();
  });
  after(() => server.stop());
  const follow = async (id: string, known = "") => {
    const headers = known === "" ? {} : { "Last-Event-ID": known };
    const reader = await readEvents(`${server.url}/v1/requests/${id}/events`, headers);
    open.push(reader);
    return reader;
  };
  const shown = (events: readonly StreamEvent[]) =>
    events.map(({ name, json }) => (name === "output" ? json.data : `${name} ${json.state}`));

  it("comes in order between the states, and before done, which has the result", async () => {
    const gate = closedGate();
    const id = await server.enqueue("gated", gate.input);
    const task = await gate.entered;
    const stream = await follow(id);
    await stream.next();
    await task.write("one");
    expect((await stream.next()).json).to.deep.equal({ seq: 0, run: 1, attempt: 1, data: "one" });
    void task.write("two");
    void task.write("three");
    gate.open({ made: true });
    const rest = await stream.until("done");
    expect(shown(rest)).to.deep.equal(["two", "three", "status succeeded", "done succeeded"]);
    expect(rest.at(-1)?.json.result).to.deep.equal({ made: true });
    expect(rest.at(-2)?.json).not.to.have.property("result");
    await stream.closed;
  });

  it("continues exactly after the event whose id is sent, be it a state or output", async () => {
    const gate = closedGate();
    const id = await server.enqueue("gated", gate.input);
    const task = await gate.entered;
    const stream = await follow(id);
    const seen = [await stream.next()];
    for (const word of ["one", "two"]) {
      await task.write(word);
      seen.push(await stream.next());
    }
    task.progress(50);
    seen.push(await stream.next());
    await task.write("three");
    seen.push(await stream.next());
    expect(shown(seen)).to.deep.equal(["status running", "one", "two", "status running", "three"]);
    gate.open();
    await server.until(id, "succeeded");
    const behind = async (n: number) => {
      const events = await (await follow(id, seen[n]?.id)).until("done");
      return shown(events.filter(({ name }) => name === "output"));
    };
    expect(await behind(0)).to.deep.equal(["one", "two", "three"]);
    expect(await behind(1)).to.deep.equal(["two", "three"]);
    expect(await behind(2)).to.deep.equal(["three"]);
    expect(await behind(3)).to.deep.equal(["three"]);
    expect(await behind(4)).to.deep.equal([]);
    const done = (await (await follow(id)).until("done")).at(-1);
    expect((await follow(id, done?.id)).status).to.equal(204);
    // Whoever has the last output, but not done, gets done.
    const all = await (await follow(id)).until("done");
    const resumed = await follow(id, all.filter(({ name }) => name === "output").at(-1)?.id);
    expect(shown(await resumed.until("done"))).to.deep.equal(["status succeeded", "done succeeded"]);
  });

  it("of done has the problem of a failed or canceled task, and only a short JSON result", async () => {
    const posted = await server.post(
      "giving-up",
      { status: 422, title: "No", more: [1] },
      { "X-Request-Id": "gave-up" },
    );
    const failed = (await (await follow("gave-up")).until("done")).at(-1)?.json;
    expect(failed.problem).to.deep.equal(posted.json);
    const canceled = await server.enqueue("default", 1, "?delay=3600");
    await server.send(`/v1/requests/${canceled}`, { method: "DELETE" });
    const gone = (await (await follow(canceled)).until("done")).at(-1)?.json;
    expect(gone.problem).to.include({ type: "/problems/canceled", status: 410, id: canceled });
    for (const answer of [await server.post("answers", { kind: "text" })]) {
      const id = String(answer.headers["x-request-id"]);
      const done = (await (await follow(id)).until("done")).at(-1)?.json;
      expect(done).to.include({ state: "succeeded" });
      expect(done).not.to.have.any.keys("result", "problem");
    }
  });
});

describe("a submission whose answer is asked for as events", () => {
  let server: TestServer;
  const open: EventReader[] = [];
  before(async () => {
    server = await startServer({ MAX_WAITING: "20" });
  });
  afterEach(() => {
    for (const reader of open.splice(0)) reader.close();
  });
  after(() => server.stop());
  const submit = async (path: string, body: unknown, headers: Record<string, string> = {}, method = "POST") => {
    const reader = await readEvents(server.url + path, headers, { method, body });
    open.push(reader);
    return reader;
  };

  it("gets 200 and the headers of a 202 at once, then place, output and result", async () => {
    const gate = closedGate();
    const stream = await submit("/v1/queues/gated/requests", gate.input, {
      "X-Request-Id": "live-1",
      Prefer: "wait=0",
    });
    expect(stream.status).to.equal(200);
    expect(stream.headers).to.include({
      "content-type": "text/event-stream",
      "cache-control": "no-cache, no-transform",
      "x-request-id": "live-1",
      location: "/v1/requests/live-1",
      "x-task-state": "waiting",
      "x-queue-index": "0",
    });
    expect(stream.headers["operation-location"]).to.equal(`${server.url}/v1/requests/live-1/status`);
    expect(stream.headers.link).to.contain('rel="monitor"');
    expect(stream.headers.vary).to.contain("Accept");
    expect(Number(stream.headers["retry-after"])).to.be.at.least(1);
    expect(stream.headers).not.to.have.property("preference-applied");
    expect((await stream.next()).name).to.equal("status");
    const task = await gate.entered;
    void task.write("word");
    gate.open({ answer: 42 });
    const events = await stream.until("done");
    expect(events.find(({ name }) => name === "output")?.json.data).to.equal("word");
    expect(events.at(-1)?.json).to.deep.include({ state: "succeeded", result: { answer: 42 } });
    await stream.closed;
  });

  it("is the same task when it is sent again, running or finished", async () => {
    const gate = closedGate();
    const headers = { "Idempotency-Key": "live-again" };
    const first = await submit("/v1/queues/gated/requests", gate.input, headers);
    await gate.entered;
    const again = await submit("/v1/queues/gated/requests", gate.input, headers);
    expect(again.headers["idempotent-replayed"]).to.equal("true");
    expect(again.headers["x-request-id"]).to.equal(first.headers["x-request-id"]);
    gate.open("done");
    for (const stream of [first, again]) expect((await stream.until("done")).at(-1)?.json.result).to.equal("done");
    const late = await submit("/v1/queues/gated/requests", gate.input, headers);
    expect((await late.until("done")).at(-1)?.json.result).to.equal("done");
  });

  it("of a PUT replaces the input of a task that waits, and follows it", async () => {
    const put = (body: unknown) => submit("/v1/queues/default/requests/live-put?delay=3600", body, {}, "PUT");
    expect((await (await put(1)).next()).json).to.include({ id: "live-put", state: "scheduled" });
    const replaced = await put(2);
    expect([replaced.status, replaced.headers.location]).to.deep.equal([200, "/v1/requests/live-put"]);
    expect((await replaced.next()).json).to.include({ state: "scheduled" });
  });

  it("is refused with a problem like any other, and then stores nothing", async () => {
    const send = (path: string, body: unknown, headers = {}) =>
      server.send(path, { method: "POST", body, headers: { ...EVENTS, ...headers } });
    expect((await send("/v1/queues/nowhere/requests", 1)).status).to.equal(404);
    expect((await send("/v1/queues/checked/requests", { width: 0 })).status).to.equal(400);
    expect((await send("/v1/requests?delay=x", 1)).status).to.equal(400);
    await server.post("default", 1, { "X-Request-Id": "live-taken" });
    const conflict = await send("/v1/requests", 2, { "X-Request-Id": "live-taken" });
    expect([conflict.status, conflict.headers["content-type"]]).to.deep.equal([409, "application/problem+json"]);
    await server.send("/v1/requests/live-taken", { method: "DELETE" });
    expect((await send("/v1/requests", 1, { "X-Request-Id": "live-taken" })).status).to.equal(410);
    const strict = await startServer({ ROLE: "api", MAX_STREAMS: "1" });
    const one = await readEvents(`${strict.url}/v1/requests?delay=9`, {}, { method: "POST", body: 1 });
    const post = { method: "POST", body: 1, headers: { ...EVENTS, "X-Request-Id": "live-many" } };
    expect((await strict.send("/v1/requests?delay=9", post)).status).to.equal(429);
    expect((await strict.send("/v1/requests/live-many")).status).to.equal(404);
    one.close();
    await strict.stop();
  });

  it("is answered as usual if another type is preferred as much, for a dry run, and in a batch", async () => {
    for (const Accept of ["application/json, text/event-stream", "text/event-stream;q=0.5, */*", "text/*", "*/*"]) {
      const answer = await server.send("/v1/requests", { method: "POST", body: 1, headers: { Accept } });
      expect(answer.headers["content-type"], Accept).to.match(/^application\/json/);
    }
    for (const Accept of [
      "text/event-stream, */*",
      "Text/Event-Stream;q=0.9, application/json;q=0.8",
      "text/event-stream",
    ]) {
      const answer = await server.send("/v1/requests", { method: "POST", body: 1, headers: { Accept } });
      expect(answer.headers["content-type"], Accept).to.equal("text/event-stream");
    }
    const dry = await server.send("/v1/requests?dryRun=true", { method: "POST", body: 1, headers: EVENTS });
    expect(dry.headers["content-type"]).to.match(/^application\/json/);
    const headers = { ...EVENTS, "Content-Type": "application/x-ndjson" };
    const batch = await server.send("/v1/queues/default/batches", { method: "POST", body: "1\n", headers });
    expect(batch.status).to.equal(202);
  });

  it("continues when the connection is dropped", async () => {
    const gate = closedGate();
    const stream = await submit("/v1/queues/gated/requests", gate.input, { "X-Request-Id": "live-dropped" });
    const task = await gate.entered;
    stream.close();
    await stream.closed;
    await task.write("kept");
    expect(task.signal.aborted).to.equal(false);
    gate.open("all the same");
    await server.until("live-dropped", "succeeded");
    expect((await server.send("/v1/requests/live-dropped")).json).to.equal("all the same");
  });
});
