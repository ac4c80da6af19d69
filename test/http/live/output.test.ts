import { once } from "node:events";
import http from "node:http";
import { expect } from "chai";
import { closedGate } from "../../helpers/gates.ts";
import { startServer, type TestServer } from "../../helpers/http/server.ts";
import { storedKey, TASK } from "../../helpers/store/stored.ts";
import { eventually } from "../../shared/eventually.ts";

/** Reads lines of JSON as they come. */
async function readLines(url: string, headers: Record<string, string> = {}) {
  const request = http.get(url, { agent: false, headers });
  const [response] = (await once(request, "response")) as [http.IncomingMessage];
  const lines: unknown[] = [];
  let [text, complete] = ["", false];
  response.setEncoding("utf8");
  response.on("data", (chunk: string) => {
    text += chunk;
    const parts = text.split("\n");
    text = parts.pop() ?? "";
    lines.push(...parts.map((part) => JSON.parse(part) as unknown));
  });
  response.on("error", () => undefined);
  response.on("end", () => {
    complete = true;
  });
  const closed = new Promise<boolean>((resolve) => response.once("close", () => resolve(complete)));
  return {
    ...{ status: response.statusCode, headers: response.headers, lines, response },
    /** Resolves when the server has closed: with whether the answer was complete. */
    closed,
    until: (count: number) => eventually(async () => lines.length >= count),
    close: () => request.destroy(),
  };
}

const value = (seq: number, data: unknown, run = 1) => ({ seq, run, attempt: run, data });

describe("the output of a task over HTTP", () => {
  let server: TestServer;
  before(async () => {
    server = await startServer();
  });
  after(() => server.stop());
  const path = (id: string, search = "") => `/v1/requests/${id}/output${search}`;
  const follow = (id: string, search = "", headers: Record<string, string> = {}) =>
    readLines(server.url + path(id, search), headers);
  const read = async (id: string, search = "") => await follow(id, search, { Prefer: "wait=0" });

  it("is everything so far, then each new value, until the task ends", async () => {
    const gate = closedGate();
    const id = await server.enqueue("gated", gate.input);
    const task = await gate.entered;
    await task.write("one");
    const reader = await follow(id);
    expect(reader.status).to.equal(200);
    expect(reader.headers).to.include({ "content-type": "application/x-ndjson", "x-accel-buffering": "no" });
    expect(reader.headers["cache-control"]).to.contain("no-store");
    await reader.until(1);
    await task.write({ n: 2 });
    await reader.until(2);
    void task.write(["last"]);
    gate.open();
    expect(await reader.closed).to.equal(true);
    expect(reader.lines).to.deep.equal([value(0, "one"), value(1, { n: 2 }), value(2, ["last"])]);
    const late = await follow(id);
    expect(await late.closed).to.equal(true);
    expect(late.lines).to.deep.equal(reader.lines);
  });

  it("is an open response before the task has begun", async () => {
    const first = closedGate();
    await server.enqueue("gated", first.input);
    await first.entered;
    const gate = closedGate();
    const id = await server.enqueue("gated", gate.input);
    const reader = await follow(id);
    expect(reader.status).to.equal(200);
    first.open();
    await (await gate.entered).write("begun");
    await reader.until(1);
    gate.open();
    expect(await reader.closed).to.equal(true);
  });

  it("continues after a given value, and ends after the time in Prefer", async () => {
    const gate = closedGate();
    const id = await server.enqueue("gated", gate.input);
    const task = await gate.entered;
    for (const word of ["a", "b", "c"]) void task.write(word);
    await task.write("d");
    const there = await read(id, "?after=1");
    expect(await there.closed).to.equal(true);
    expect(there.headers["preference-applied"]).to.equal("wait=0");
    expect(there.lines).to.deep.equal([value(2, "c"), value(3, "d")]);
    const none = await read(id, "?after=3");
    await none.closed;
    expect(none.lines).to.deep.equal([]);
    const brief = await follow(id, "?after=2", { Prefer: "wait=1" });
    await brief.until(1);
    await task.write("e");
    expect(await brief.closed).to.equal(true);
    expect(brief.lines).to.deep.equal([value(3, "d"), value(4, "e")]);
    gate.open();
    for (const search of ["?after=x", "?after=-1", "?after=1&after=2"]) {
      const refused = await server.send(path(id, search));
      expect([refused.status, refused.json.type]).to.deep.equal([400, "/problems/invalid-parameter"]);
    }
  });

  it("is answered like the result of unknown, canceled, deleted and expired tasks", async () => {
    const unknown = await server.send(path("nobody"));
    expect([unknown.status, unknown.json.type]).to.deep.equal([404, "/problems/unknown"]);
    const canceled = await server.enqueue("default", 1, "?delay=3600");
    await server.send(`/v1/requests/${canceled}`, { method: "DELETE" });
    const deleted = (await server.post("default", 1)).json.id;
    await server.send(`/v1/requests/${deleted}`, { method: "DELETE" });
    const expired = String((await server.post("brief", 1)).headers["x-request-id"]);
    await eventually(async () => (await server.send(`/v1/requests/${expired}`)).status === 410);
    for (const [id, code] of [
      [canceled, "canceled"],
      [deleted, "deleted"],
      [expired, "expired"],
    ] as const) {
      const gone = await server.send(path(id));
      expect([gone.status, gone.json.type], code).to.deep.equal([410, `/problems/${code}`]);
    }
    const head = await server.send(path(await server.enqueue("default", 1, "?delay=3600")), { method: "HEAD" });
    expect([head.status, head.text]).to.deep.equal([200, ""]);
  });

  it("ends when the task is canceled, and breaks off when it is deleted", async () => {
    const gate = closedGate();
    const id = await server.enqueue("gated", gate.input);
    const task = await gate.entered;
    const reader = await follow(id);
    await task.write("word");
    await reader.until(1);
    await server.send(`/v1/requests/${id}`, { method: "DELETE" });
    gate.open();
    expect(await reader.closed).to.equal(true);
    expect((await server.send(path(id))).status).to.equal(410);
  });

  it("is not kept in memory for a reader who reads nothing, and who still gets all of it in the end", async () => {
    const gate = closedGate();
    const id = await server.enqueue("gated", gate.input);
    const task = await gate.entered;
    const reader = await follow(id);
    reader.response.pause();
    const written = Array.from({ length: 60 }, (_, n) => `${n} ${"x".repeat(16_000)}`);
    const before = process.memoryUsage().arrayBuffers;
    for (const text of written) await task.write(text);
    gate.open();
    await server.until(id, "succeeded");
    expect(process.memoryUsage().arrayBuffers - before).to.be.below(30_000_000);
    reader.response.resume();
    expect(await reader.closed).to.equal(true);
    expect(reader.lines).to.deep.equal(written.map((text, n) => value(n, text)));
  });

  it("breaks off when the server stops, so that its reader does not take it for complete; one with a time limit ends", async () => {
    const gate = closedGate();
    const id = await server.enqueue("gated", gate.input);
    const task = await gate.entered;
    await task.write("word");
    const other = await startServer({ ROLE: "api", KEY_PREFIX: server.prefix });
    const endless = await readLines(other.url + path(id));
    const limited = await readLines(other.url + path(id), { Prefer: "wait=600" });
    await Promise.all([endless.until(1), limited.until(1)]);
    await other.stop({ keep: true });
    expect(await endless.closed).to.equal(false);
    expect(await limited.closed).to.equal(true);
    gate.open();
  });

  it("reaches a reader whose notices are lost", async () => {
    const gate = closedGate();
    const id = await server.enqueue("gated", gate.input);
    const task = await gate.entered;
    const other = await startServer({ ROLE: "api", KEY_PREFIX: server.prefix });
    const reader = await readLines(other.url + path(id));
    await task.write("first");
    await reader.until(1);
    // Nobody is named in the record any more: nobody is told.
    const { connectOnce } = await import("../../../src/store/servers/probe.ts");
    const { storeUrl } = await import("../../helpers/store/run-store.ts");
    const redis = await connectOnce(storeUrl());
    await redis.hdel(storedKey(`{${server.prefix}:0}`, "task", id), TASK.listeners);
    await task.write("second");
    await reader.until(2);
    redis.disconnect();
    reader.close();
    gate.open();
    await other.stop({ keep: true });
  });
});

describe("the output of a worker over HTTP", () => {
  let server: TestServer;
  before(async () => {
    server = await startServer({ ROLE: "api", MAX_OUTPUT: "100b" });
  });
  after(() => server.stop());
  const lease = async () => {
    const taken = await server.send("/v1/queues/default/leases", { method: "POST", headers: { Prefer: "wait=5" } });
    return taken.json.items[0];
  };
  const write = (id: string, fence: unknown, data: unknown) =>
    server.send(`/v1/leases/${id}/output`, { method: "POST", body: { fence, data } });

  it("is stored in order under its fence, and distinguished by the start that wrote it", async () => {
    const id = await server.enqueue("default", 1);
    const first = await lease();
    expect(first.links).to.deep.include({ rel: "output", href: `/v1/leases/${id}/output`, method: "POST" });
    expect((await write(id, first.fence, ["a", { b: 1 }])).status).to.equal(204);
    await server.send(`/v1/leases/${id}/fail`, { method: "POST", body: { fence: first.fence, after: 0 } });
    const stale = await write(id, first.fence, ["late"]);
    expect([stale.status, stale.json.type, stale.json.reason]).to.deep.equal([
      410,
      "/problems/invalid-task",
      "lease-lost",
    ]);
    const second = await lease();
    expect((await write(id, second.fence, ["again"])).status).to.equal(204);
    const reader = await readLines(`${server.url}/v1/requests/${id}/output`);
    await server.send(`/v1/leases/${id}/complete`, { method: "POST", body: { fence: second.fence, result: 1 } });
    expect(await reader.closed).to.equal(true);
    expect(reader.lines).to.deep.equal([
      { seq: 0, run: 1, attempt: 1, data: "a" },
      { seq: 1, run: 1, attempt: 1, data: { b: 1 } },
      { seq: 2, run: 2, attempt: 1, data: "again" },
    ]);
  });

  it("is refused above MAX_OUTPUT, always a request as a whole, and if it is not a list", async () => {
    const id = await server.enqueue("default", 2);
    const { fence } = await lease();
    const refused = await write(id, fence, ["fits", "x".repeat(100)]);
    expect([refused.status, refused.json.type]).to.deep.equal([413, "/problems/payload-too-large"]);
    expect(refused.json.detail).to.contain("MAX_OUTPUT");
    expect((await write(id, fence, ["fits"])).status).to.equal(204);
    for (const data of ["text", [], undefined]) expect((await write(id, fence, data)).status).to.equal(400);
    expect((await write("nobody", fence, [1])).status).to.equal(404);
    const seen = await server.send(`/v1/requests/${id}/output`, { headers: { Prefer: "wait=0" } });
    expect(seen.text).to.equal('{"seq":0,"run":1,"attempt":1,"data":"fits"}\n');
  });
});
