import { expect } from "chai";
import { closedGate, openGates } from "../../helpers/gates.ts";
import { openBatch, verdictsOf } from "../../helpers/http/batch.ts";
import { readEvents } from "../../helpers/http/events.ts";
import { openLines } from "../../helpers/http/lines.ts";
import { type Answer, type Sent, startServer, type TestServer } from "../../helpers/http/server.ts";
import { eventually } from "../../shared/eventually.ts";

const NDJSON = { "Content-Type": "application/x-ndjson" };

describe("a group over HTTP", () => {
  let server: TestServer;
  before(async () => {
    server = await startServer();
  });
  afterEach(openGates);
  after(() => server.stop());

  const batch = (queue: string, search: string, lines: readonly unknown[], headers: Sent["headers"] = {}) =>
    server.send(`/v1/queues/${queue}/batches${search}`, {
      method: "POST",
      headers: { ...NDJSON, ...headers },
      body: lines.map((line) => JSON.stringify(line)).join("\n"),
    });
  const get = (path: string, headers: Sent["headers"] = {}) => server.send(path, { headers });
  const until = (path: string, state: string) =>
    eventually(async () => {
      const answer = await get(path);
      return answer.json.state === state && answer;
    }) as Promise<Answer>;

  it("has one address, one place and one count for all tasks of a batch", async () => {
    const gate = closedGate();
    const answer = await batch("gated", "?group=true", [gate.input, gate.input, { gate: 1 }]);
    expect(answer.status).to.equal(202);
    const path = String(answer.headers.location);
    expect(path).to.match(/^\/v1\/groups\/[0-9a-f-]{36}$/);
    const verdicts = verdictsOf(answer.text);
    expect(verdicts.map(({ line }) => line)).to.deep.equal([0, 1, 2]);
    await gate.entered;
    const pending = await get(path);
    expect(pending.status).to.equal(202);
    expect(pending.headers).to.include({ "cache-control": "no-store", location: path, vary: "Prefer, Accept" });
    expect(Number(pending.headers["retry-after"])).to.be.at.least(1);
    expect(pending.headers.etag).to.match(/^W\/"/);
    expect(pending.json).to.deep.include({
      ...{ id: path.split("/").at(-1), queue: "gated", state: "pending", total: 3, waiting: 2, running: 1 },
      ...{ scheduled: 0, retrying: 0, succeeded: 0, failed: 0, canceled: 0, index: 1, cancelRequested: false },
      ...{ progress: { percent: 0 }, finishedAt: null, expiresAt: null },
    });
    expect(pending.json.links.map(({ rel }: { rel: string }) => rel)).to.deep.equal([
      "self",
      "events",
      "results",
      "cancel",
    ]);
    const member = await get(`/v1/requests/${verdicts[2].id}/status`);
    expect(member.json.index).to.equal(1);
    gate.open("passed");
    const done = await until(path, "done");
    expect(done).to.deep.include({ status: 200 });
    expect(done.json).to.deep.include({ succeeded: 2, failed: 1, index: null, progress: { percent: 100 } });
    expect(Date.parse(done.json.expiresAt)).to.be.greaterThan(Date.now());
  });

  it("answers with results in the order of submission, whatever the tasks answered", async () => {
    const kinds = ["json", "null", "text", "created", "nothing", "empty", "long", "bytes", "html"];
    const answer = await batch(
      "answers",
      "?group=kinds",
      kinds.map((kind) => ({ kind })),
    );
    const ids = verdictsOf(answer.text).map(({ id }) => id);
    const { text, headers } = await get("/v1/groups/kinds/results?follow=true");
    expect(headers["content-type"]).to.equal("application/x-ndjson");
    const lines = verdictsOf(text);
    expect(lines.map(({ id }) => id)).to.deep.equal(ids);
    expect(lines.map(({ line }) => line)).to.deep.equal(kinds.map((_, n) => n));
    const [json, none, plain, created, , empty, long] = lines;
    expect(json).to.deep.equal({
      ...{ line: 0, id: ids[0], state: "succeeded", status: 200, contentType: "application/json" },
      data: { grüße: "世界 🎫" },
    });
    expect(none.data).to.equal(null);
    expect(plain).to.deep.include({ contentType: "text/plain; charset=utf-8", href: `/v1/requests/${ids[2]}` });
    expect(created).to.deep.include({ status: 201, data: { made: true } });
    expect(empty).to.deep.include({ status: 204, contentType: null });
    expect(long).to.have.property("href");
    expect((await get(long.href)).body.length).to.be.greaterThan(300_000);
    expect((await get("/v1/groups/kinds/results")).text).to.equal(text);
  });

  it("tells of tasks that failed, were canceled or deleted what collecting them would answer", async () => {
    const answer = await batch("giving-up", "?group=bad", [{ status: 422, title: "No" }]);
    const [{ id }] = verdictsOf(answer.text);
    const [failed] = verdictsOf((await get("/v1/groups/bad/results?follow=true")).text);
    expect(failed).to.deep.include({ line: 0, id, state: "failed", status: 422 });
    expect(failed).to.deep.include({ contentType: "application/problem+json" });
    expect(failed.problem).to.deep.equal((await get(`/v1/requests/${id}`)).json);
    const ended = await batch("default", "?group=gone", [1]);
    const [{ href }] = verdictsOf(ended.text);
    await until("/v1/groups/gone", "done");
    await server.send(href, { method: "DELETE" });
    const [deleted] = verdictsOf((await get("/v1/groups/gone/results")).text);
    expect(deleted).to.deep.include({ state: "succeeded", status: 410 });
    expect(deleted.problem.type).to.equal("/problems/deleted");
  });

  it("sends results as they end, and goes on behind those that were sent", async () => {
    const [slow, fast, first] = [closedGate(), closedGate(), closedGate()];
    first.open("first");
    const ahead = closedGate();
    const other = await server.enqueue("gated", ahead.input);
    await ahead.entered;
    // The queue runs one at a time: the first line last, the last one second, however many of them it finds at once.
    const lines = [
      { input: slow.input, priority: 5 },
      { input: first.input, priority: 0 },
      { input: fast.input, priority: 3 },
    ];
    await batch("gated", "?group=ends&envelope=true", lines);
    ahead.open();
    await server.until(other, "succeeded");
    await eventually(async () => (await get("/v1/groups/ends")).json.succeeded === 1);
    const path = "/v1/groups/ends/results?follow=true";
    const reader = await openLines(server.url + path);
    expect(await reader.next()).to.deep.include({ line: 1, data: "first" });
    fast.open("fast");
    expect(await reader.next()).to.deep.include({ line: 2, data: "fast" });
    slow.open("slow");
    expect(await reader.next()).to.deep.include({ line: 0, data: "slow" });
    expect(await reader.next()).to.equal(undefined);
    for (const [after, left] of [
      [0, [1, 2, 0]],
      [1, [2, 0]],
      [2, [0]],
      [3, []],
    ] as const) {
      const again = verdictsOf((await get(`${path}&after=${after}`)).text);
      expect(
        again.map(({ line }) => line),
        `after ${after}`,
      ).to.deep.equal(left);
    }
    const inOrder = verdictsOf((await get("/v1/groups/ends/results?after=1")).text);
    expect(inOrder.map(({ line }) => line)).to.deep.equal([1, 2]);
    expect((await get(`${path}&after=x`)).json.type).to.equal("/problems/invalid-parameter");
  });

  it("is answered as at first if its batch is sent again, also once it is closed", async () => {
    const inputs = [{ a: 1 }, { a: 1 }, { a: 2 }];
    const first = await batch("default", "?group=twice", inputs);
    const ids = verdictsOf(first.text).map(({ id }) => id);
    await until("/v1/groups/twice", "done");
    const again = await batch("default", "?group=twice", inputs);
    expect([again.status, again.headers.location]).to.deep.equal([202, first.headers.location]);
    const replayed = ids.map((id) => ({ id, replayed: true, group: "twice" }));
    expect(verdictsOf(again.text).map(({ id, replayed, group }) => ({ id, replayed, group }))).to.deep.equal(replayed);
    expect((await get("/v1/groups/twice")).json).to.include({ state: "done", total: 3 });
    expect((await batch("default", "?group=twice", [])).status, "closed again").to.equal(202);
    expect((await batch("default", "?group=twice", [{ a: 1 }, { a: 2 }])).status, "another line later").to.equal(202);
    expect((await batch("default", "?group=twice", [{ a: 2 }])).status, "another batch").to.equal(409);
  });

  it("is closed by no batch of which a line was refused for the moment", async () => {
    const gate = closedGate();
    const lines = [gate.input, gate.input, gate.input];
    const verdicts = verdictsOf((await batch("gated", "?group=busy&maxIndex=0", lines)).text);
    expect(verdicts.some(({ problem }) => problem?.status === 503)).to.equal(true);
    expect((await get("/v1/groups/busy")).json.state).to.equal("open");
    const again = verdictsOf((await batch("gated", "?group=busy", lines)).text);
    expect(again.map(({ problem }) => problem)).to.deep.equal(lines.map(() => undefined));
    expect((await get("/v1/groups/busy")).json).to.include({ state: "pending", total: 3 });
    gate.open();
    await until("/v1/groups/busy", "done");
  });

  it("is not made by a batch that is refused as a whole for the moment: 503 with Retry-After, and the next one makes it", async () => {
    const gate = closedGate();
    const others = [await server.enqueue("gated", gate.input), await server.enqueue("gated", gate.input)];
    await gate.entered;
    const lines = [gate.input, gate.input];
    const answer = await batch("gated", "?group=later&maxIndex=0&envelope=true", [
      {},
      ...lines.map((input) => ({ input })),
    ]);
    expect([answer.status, answer.json.type]).to.deep.equal([503, "/problems/line-too-long"]);
    expect(Number(answer.headers["retry-after"])).to.be.at.least(1);
    expect(answer.json).to.include({ queue: "gated", index: 1 });
    expect(answer.json.errors.map(({ pointer }: { pointer: string }) => pointer)).to.deep.equal(["#/0", "#/1", "#/2"]);
    expect((await get("/v1/groups/later")).status).to.equal(404);
    expect((await batch("gated", "?group=later", lines)).headers.location).to.equal("/v1/groups/later");
    expect((await get("/v1/groups/later")).json).to.include({ state: "pending", total: 2 });
    gate.open();
    for (const id of others) await server.until(id, "succeeded");
    await until("/v1/groups/later", "done");
  });

  it("has at least one task: a batch without any is refused, and stores nothing", async () => {
    for (const lines of [[], [{ width: 0 }]]) {
      const answer = await batch("checked", "?group=none", lines);
      expect([answer.status, answer.json.type]).to.deep.equal([400, "/problems/invalid-input"]);
      expect(answer.json.errors.map(({ pointer }: { pointer: string }) => pointer)).to.deep.equal(
        lines.map(() => "#/0"),
      );
      expect((await get("/v1/groups/none")).status).to.equal(404);
    }
  });

  it("sends results of several batches, each line with a number of its own", async () => {
    const [first, second] = [closedGate(), closedGate()];
    await batch("gated", "?group=turns&open=true", [first.input]);
    await batch("gated-too", "?group=elsewhere", [second.input]);
    expect((await batch("gated-too", "?group=turns", [second.input])).status).to.equal(409);
    const reader = await openLines(`${server.url}/v1/groups/turns/results?follow=true`);
    await first.entered;
    first.open(1);
    expect(await reader.next()).to.deep.include({ line: 0, data: 1 });
    const third = closedGate();
    third.open(3);
    await batch("gated", "?group=turns", [third.input]);
    expect(await reader.next()).to.deep.include({ line: 1, data: 3 });
    expect(await reader.next()).to.equal(undefined);
    second.open();
  });

  it("has the presence of its batch, or of its handler, and no line one of its own", async () => {
    const answer = await batch("default", "?group=seen&presence=1h&delay=3600", [1, 2]);
    expect(answer.headers.presence).to.equal("3600");
    const { json } = await get("/v1/groups/seen");
    expect(Date.parse(json.presentUntil)).to.be.greaterThan(Date.now());
    const [{ id }] = verdictsOf(answer.text);
    const later = Date.parse((await get(`/v1/requests/${id}/status`)).json.presentUntil);
    expect(later, "a look at a member keeps all").to.be.above(Date.parse(json.presentUntil));
    const own = await batch("default", "?group=own&envelope=true", [{ input: 1, presence: "30s" }]);
    expect([own.status, own.json.errors[0].detail]).to.deep.equal([
      400,
      "presence: of all lines of a group: a parameter of the batch",
    ]);
    await server.send("/v1/groups/seen", { method: "DELETE" });
  });

  it("leaves out what has not ended unless it is followed", async () => {
    const gate = closedGate();
    await batch("gated", "?group=rest", [gate.input, gate.input]);
    await gate.entered;
    const answer = await get("/v1/groups/rest/results");
    expect([answer.status, answer.text]).to.deep.equal([200, ""]);
    gate.open();
    await until("/v1/groups/rest", "done");
    expect(verdictsOf((await get("/v1/groups/rest/results")).text)).to.have.length(2);
  });

  it("takes batches until one comes without open=true, and refuses later ones", async () => {
    expect((await batch("default", "?group=more&open=true", [1, 2])).headers.location).to.equal("/v1/groups/more");
    expect((await get("/v1/groups/more")).json).to.include({ state: "open", total: 2 });
    expect(verdictsOf((await batch("default", "?group=more&open=true", [])).text)).to.deep.equal([]);
    await batch("default", "?group=more", [3]);
    expect((await until("/v1/groups/more", "done")) && (await get("/v1/groups/more")).json.total).to.equal(3);
    const refused = await batch("default", "?group=more", [4]);
    expect([refused.status, refused.json.type, refused.json.id]).to.deep.equal([409, "/problems/id-conflict", "more"]);
    for (const search of [
      "?open=true",
      "?group=a%20b",
      "?group=",
      "?group=false",
      "?group=TRUE",
      "?group=False",
      "?group=a&group=b",
      "?group=x&open=yes",
    ]) {
      const answer = await batch("default", search, [1]);
      expect([answer.status, answer.json.type], search).to.deep.equal([400, "/problems/invalid-parameter"]);
    }
  });

  it("takes ids and options of envelopes, and answers a line again that was sent again", async () => {
    const lines = [
      { id: "group-a", input: 1, delay: 3600 },
      { id: "group-a", input: 1 },
      { id: "group-a", input: 2 },
      { id: "group-b", input: 3 },
    ];
    const verdicts = verdictsOf((await batch("default", "?group=ids&envelope=true&open=true", lines)).text);
    expect(verdicts.map(({ replayed, problem }) => replayed ?? problem?.status)).to.deep.equal([
      undefined,
      true,
      409,
      undefined,
    ]);
    expect((await get("/v1/groups/ids")).json).to.include({ total: 2, scheduled: 1 });
    await batch("default", "?group=ids&envelope=true", [lines[0], lines[3]]);
    expect((await get("/v1/groups/ids")).json).to.include({ total: 2, state: "pending" });
    await server.send("/v1/groups/ids", { method: "DELETE" });
  });

  it("stays open if the batch breaks off", async () => {
    const sent = openBatch(server.url, "/v1/queues/default/batches?group=broken");
    sent.write("1\n");
    expect(await sent.next()).to.include({ line: 0 });
    sent.leave();
    await eventually(async () => (await get("/v1/groups/broken")).json.succeeded === 1);
    expect((await get("/v1/groups/broken")).json.state).to.equal("open");
    expect((await batch("default", "?group=broken", [2])).status).to.equal(202);
    await until("/v1/groups/broken", "done");
  });

  it("is canceled as a whole: 202, then canceled", async () => {
    const gate = closedGate();
    await batch("gated", "?group=stop", [gate.input, gate.input, gate.input]);
    await gate.entered;
    const { etag } = (await get("/v1/groups/stop")).headers;
    const end = (of: string) => server.send("/v1/groups/stop", { method: "DELETE", headers: { "If-Match": of } });
    expect((await end('W/"another"')).json).to.include({ status: 412, type: "/problems/precondition-failed" });
    expect((await get("/v1/groups/stop")).json).to.include({ cancelRequested: false, waiting: 2 });
    const answer = await end(String(etag));
    expect(answer.status).to.equal(202);
    expect(answer.json).to.deep.include({ cancelRequested: true, waiting: 0 });
    const done = await until("/v1/groups/stop", "canceled");
    expect(done.json).to.include({ canceled: 3, running: 0 });
    expect((await server.send("/v1/groups/stop", { method: "DELETE" })).status).to.equal(204);
    const lines = verdictsOf((await get("/v1/groups/stop/results")).text);
    expect(lines.map(({ status }) => status)).to.deep.equal([410, 410, 410]);
    expect((await batch("gated", "?group=stop", ["another"])).status).to.equal(409);
  });

  it("can be waited for: a long poll ends when it has changed", async () => {
    const gate = closedGate();
    await batch("gated", "?group=poll", [gate.input]);
    await gate.entered;
    const { etag } = (await get("/v1/groups/poll")).headers;
    const condition = { "If-None-Match": String(etag) };
    expect((await get("/v1/groups/poll", condition)).status).to.equal(304);
    const waiting = get("/v1/groups/poll", { ...condition, Prefer: "wait=20" });
    gate.open();
    const changed = await waiting;
    expect([changed.status, changed.json.state]).to.deep.equal([200, "done"]);
    const same = { "If-None-Match": String(changed.headers.etag), Prefer: "wait=1" };
    const unchanged = await get("/v1/groups/poll", same);
    expect([unchanged.status, unchanged.headers["preference-applied"]]).to.deep.equal([304, "wait=1"]);
  });

  it("can be followed as events, at both addresses", async () => {
    for (const path of ["/v1/groups/live-1", "/v1/groups/live-2/events"]) {
      const gate = closedGate();
      await batch("gated", `?group=${path.split("/")[3]}`, [gate.input]);
      await gate.entered;
      const reader = await readEvents(`${server.url}${path}`);
      expect(reader.headers).to.include({ "content-type": "text/event-stream" });
      expect((await reader.next()).json).to.include({ state: "pending", running: 1 });
      gate.open();
      const events = await reader.until("done");
      const last = events.at(-1);
      expect(last?.json).to.include({ state: "done", succeeded: 1 });
      await reader.closed;
      expect((await get(path, { Accept: "text/event-stream" })).text).to.contain("event: done");
      expect((await get(path, { Accept: "text/event-stream", "Last-Event-ID": last?.id ?? "" })).status).to.equal(204);
    }
  });

  it("is unknown as a task is", async () => {
    for (const at of ["nobody", "not%20one", "a".repeat(200)]) {
      for (const path of ["", "/events", "/results"]) {
        const answer = await get(`/v1/groups/${at}${path}`);
        expect([answer.status, answer.json.type]).to.deep.equal([404, "/problems/unknown"]);
      }
      expect((await server.send(`/v1/groups/${at}`, { method: "DELETE" })).status).to.equal(404);
    }
  });

  it("has a head", async () => {
    await batch("default", "?group=head", [1]);
    await until("/v1/groups/head", "done");
    for (const path of ["", "/results", "/events"]) {
      const { status, text } = await server.send(`/v1/groups/head${path}`, { method: "HEAD" });
      expect([status, text]).to.deep.equal([200, ""]);
    }
  });
});
