import { expect } from "chai";
import { connectOnce } from "../../../src/store/servers/connect-once.ts";
import { closedGate } from "../../helpers/gates.ts";
import { openLines } from "../../helpers/http/lines.ts";
import { startServer, type TestServer } from "../../helpers/http/server.ts";
import { storeUrl } from "../../helpers/store/run-store.ts";
import { storedKey, TASK } from "../../helpers/store/stored.ts";

const value = (seq: number, data: unknown, run = 1) => ({ seq, run, attempt: run, data });

describe("the output of a task over HTTP", () => {
  let server: TestServer;
  before(async () => {
    server = await startServer();
  });
  after(() => server.stop());
  const path = (id: string, search = "") => `/v1/requests/${id}/output${search}`;
  const follow = (id: string, search = "", headers: Record<string, string> = {}) =>
    openLines(server.url + path(id, search), headers);
  const read = async (id: string, search = "") => await follow(id, search, { Prefer: "wait=0" });

  it("is everything so far, then each new value, until the task ends", async () => {
    const gate = closedGate();
    const id = await server.enqueue("gated", gate.input);
    const task = await gate.entered;
    await task.write("one");
    const reader = await follow(id);
    expect(reader.status).to.equal(200);
    expect(reader.headers).to.include({ "content-type": "application/x-ndjson", "x-accel-buffering": "no" });
    const seen = [await reader.next()];
    await task.write({ n: 2 });
    seen.push(await reader.next());
    void task.write(["last"]);
    gate.open();
    seen.push(...(await reader.rest()));
    expect(reader.isComplete()).to.equal(true);
    expect(seen).to.deep.equal([value(0, "one"), value(1, { n: 2 }), value(2, ["last"])]);
    expect(await (await follow(id)).rest()).to.deep.equal(seen);
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
    expect(await reader.next()).to.deep.equal(value(0, "begun"));
    gate.open();
    expect([await reader.rest(), reader.isComplete()]).to.deep.equal([[], true]);
  });

  it("continues after a given value, and ends after the time in Prefer", async () => {
    const gate = closedGate();
    const id = await server.enqueue("gated", gate.input);
    const task = await gate.entered;
    for (const word of ["a", "b", "c"]) void task.write(word);
    await task.write("d");
    const there = await read(id, "?after=1");
    expect(there.headers["preference-applied"]).to.equal("wait=0");
    expect([await there.rest(), there.isComplete()]).to.deep.equal([[value(2, "c"), value(3, "d")], true]);
    expect(await (await read(id, "?after=3")).rest()).to.deep.equal([]);
    const brief = await follow(id, "?after=2", { Prefer: "wait=1" });
    expect(await brief.next()).to.deep.equal(value(3, "d"));
    await task.write("e");
    expect([await brief.rest(), brief.isComplete()]).to.deep.equal([[value(4, "e")], true]);
    gate.open();
    for (const search of ["?after=x", "?after=-1", "?after=1&after=2"]) {
      const refused = await server.send(path(id, search));
      expect([refused.status, refused.json.type]).to.deep.equal([400, "/problems/invalid-parameter"]);
    }
  });

  it("ends when the task is canceled, and breaks off when it is deleted", async () => {
    const gate = closedGate();
    const id = await server.enqueue("gated", gate.input);
    const task = await gate.entered;
    const reader = await follow(id);
    await task.write("word");
    await reader.next();
    await server.send(`/v1/requests/${id}`, { method: "DELETE" });
    gate.open();
    expect([await reader.rest(), reader.isComplete()]).to.deep.equal([[], true]);
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
    expect(await reader.rest()).to.deep.equal(written.map((text, n) => value(n, text)));
  });

  it("breaks off when the server stops, so that its reader does not take it for complete; one with a time limit ends", async () => {
    const gate = closedGate();
    const id = await server.enqueue("gated", gate.input);
    const task = await gate.entered;
    await task.write("word");
    const other = await startServer({ ROLE: "api", KEY_PREFIX: server.prefix });
    const endless = await openLines(other.url + path(id));
    const limited = await openLines(other.url + path(id), { Prefer: "wait=600" });
    await Promise.all([endless.next(), limited.next()]);
    await other.stop({ keep: true });
    expect([await endless.rest(), endless.isComplete()]).to.deep.equal([[], false]);
    expect([await limited.rest(), limited.isComplete()]).to.deep.equal([[], true]);
    gate.open();
  });

  it("reaches a reader whose notices are lost", async () => {
    const gate = closedGate();
    const id = await server.enqueue("gated", gate.input);
    const task = await gate.entered;
    const other = await startServer({ ROLE: "api", KEY_PREFIX: server.prefix });
    const reader = await openLines(other.url + path(id));
    await task.write("first");
    await reader.next();
    // Nobody is named in the record any more: nobody is told.
    const redis = await connectOnce(storeUrl());
    await redis.hdel(storedKey(`{${server.prefix}:0}`, "task", id), TASK.listeners);
    await task.write("second");
    expect(await reader.next()).to.deep.equal(value(1, "second"));
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
    const reader = await openLines(`${server.url}/v1/requests/${id}/output`);
    await server.send(`/v1/leases/${id}/complete`, { method: "POST", body: { fence: second.fence, result: 1 } });
    expect(await reader.rest()).to.deep.equal([
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
