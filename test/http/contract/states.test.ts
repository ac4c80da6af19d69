import { expect } from "chai";
import { task } from "../../../src/wire/task.ts";
import { closedGate } from "../../helpers/gates.ts";
import { startServer, type TestServer } from "../../helpers/http/server.ts";
import { CONDITIONS, type Condition, ENDED, type TasksOfEach, tasksOfEach } from "./task-states.ts";

/** Only a turn that is taken has `turn`. */
const MEMBERS = Object.keys(task.shape).filter((name) => name !== "turn");

const TIMES = ["createdAt", "startedAt", "finishedAt", "expiresAt"];
const RFC3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** What a browser sends when somebody opens a link. */
const BROWSER = { Accept: "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8" };

describe("the contract: the monitor in every state", () => {
  let server: TestServer;
  let each: TasksOfEach;
  before(async () => {
    server = await startServer({ SYNC_LIMIT: "100ms" });
    each = await tasksOfEach(server);
  });
  after(async () => {
    each.release();
    await server.stop();
  });

  /** State, status and index of the document, and the links that it has. */
  const EXPECTED: Readonly<Record<Exclude<Condition, "deleted">, readonly [string, number, number | null, string]>> = {
    waiting: ["waiting", 202, 0, "self monitor events cancel"],
    scheduled: ["scheduled", 202, null, "self monitor events cancel"],
    running: ["running", 202, 0, "self monitor events cancel"],
    retrying: ["retrying", 202, null, "self monitor events cancel"],
    succeeded: ["succeeded", 200, null, "self result delete again"],
    failed: ["failed", 200, null, "self result delete again"],
    canceled: ["canceled", 200, null, "self again"],
    expired: ["succeeded", 200, null, "self"],
  };

  for (const [condition, [state, status, index, rels]] of Object.entries(EXPECTED)) {
    it(`${condition}: ${status} with index ${index}, every member, times in UTC, and the links ${rels}`, async () => {
      const { id, queue } = each.tasks[condition as Condition];
      for (const at of [`/v1/requests/${id}/status`, `/v1/queue/requests/${id}`]) {
        const { status: answered, headers, json } = await server.send(at);
        expect(answered).to.equal(status);
        expect(headers["content-type"]).to.match(/^application\/json\b/);
        expect(headers.etag).to.match(/^W\/"[^"]+"$/);
        expect(Object.keys(json)).to.deep.equal(MEMBERS);
        expect(json).to.include({ id, queue, state, status: state, index });
        expect(json.links.map(({ rel }: { rel: string }) => rel).join(" ")).to.equal(rels);
        for (const name of TIMES) if (json[name] !== null) expect(json[name], name).to.match(RFC3339);
        expect(json.finishedAt === null).to.equal(status === 202);
        expect(json.expiresAt === null).to.equal(status === 202 || state === "canceled");
        if (status === 202) {
          expect(headers.location).to.equal(`/v1/requests/${id}/status`);
        } else {
          expect(headers).not.to.have.any.keys("retry-after", "location");
        }
        const hasError = state === "failed" || state === "canceled";
        expect(json.error !== null).to.equal(hasError);
        if (hasError) expect(json.error.message).to.be.a("string").that.is.not.empty;
      }
    });
  }

  it("deleted: 410, and unknown: 404, on both paths, as document, page and events", async () => {
    const { id } = each.tasks.deleted;
    for (const [task, status] of [[id, 410] as const, ["nobody", 404] as const]) {
      for (const end of ["/status", "/events", "/output", "/timeline", "/input"]) {
        expect((await server.send(`/v1/requests/${task}${end}`)).status, end).to.equal(status);
      }
      expect((await server.send(`/v1/queue/requests/${task}`)).status).to.equal(status);
      const page = await server.send(`/v1/requests/${task}/status`, { headers: { Accept: "text/html" } });
      expect([page.status, page.headers["content-type"]]).to.deep.equal([status, "text/html; charset=utf-8"]);
    }
    for (const [method, at] of [
      ["DELETE", "/v1/requests/nobody"],
      ["DELETE", "/v1/requests/-odd"],
      ["GET", "/v1/requests/-odd/status"],
    ] as const) {
      const { status, json } = await server.send(at, { method });
      expect([status, json.type, json.index], `${method} ${at}`).to.deep.equal([404, "/problems/unknown", null]);
    }
  });

  it("collected by a browser: the page of the task, with the same status; with raw=true what everybody else gets", async () => {
    for (const condition of CONDITIONS) {
      const at = `/v1/requests/${each.tasks[condition].id}`;
      const [page, plain] = [await server.send(at, { headers: BROWSER }), await server.send(at)];
      expect(page.status, condition).to.equal(plain.status);
      expect(page.headers["content-type"], condition).to.equal("text/html; charset=utf-8");
      const ofResult = condition === "succeeded" ? [] : ["location", "cache-control"];
      for (const name of ["x-task-state", "x-queue-index", "vary", ...ofResult])
        expect(page.headers[name], `${condition}: ${name}`).to.equal(plain.headers[name]);
      const raw = await server.send(`${at}?raw=true`, { headers: BROWSER });
      if (condition !== "running") expect([raw.status, raw.body], condition).to.deep.equal([plain.status, plain.body]);
      expect(plain.headers.vary).to.match(/\bAccept\b/);
    }
    const waiting = await server.send(`/v1/requests/${each.tasks.waiting.id}?pending=202`, { headers: BROWSER });
    expect([waiting.status, waiting.headers["content-type"]]).to.deep.equal([202, "text/html; charset=utf-8"]);
    const unknown = await server.send("/v1/requests/nobody", { headers: BROWSER });
    expect([unknown.status, unknown.headers["content-type"]]).to.deep.equal([404, "text/html; charset=utf-8"]);
  });

  it("synchronous: 404 pending after the limit, redirect and stream once terminal; names and values are case-insensitive", async () => {
    for (const condition of CONDITIONS) {
      const { id } = each.tasks[condition];
      const monitor = (search: string) => server.send(`/v1/requests/${id}/status?${search}`);
      const held = await monitor("ONPENDING=Synchronous&onComplete=REDIRECT");
      const plain = await monitor("onpending=ACCEPTED&onComplete=stream");
      if (condition === "deleted") {
        expect([held.status, plain.status]).to.deep.equal([410, 410]);
      } else if (EXPECTED[condition][1] === 202) {
        expect([held.status, held.json.type], condition).to.deep.equal([404, "/problems/pending"]);
        expect([plain.status, plain.json.state]).to.deep.equal([202, condition]);
      } else {
        expect([held.status, held.headers.location]).to.deep.equal([303, `/v1/requests/${id}`]);
        const [streamed, collected] = [await monitor("oncomplete=Stream"), await server.send(`/v1/requests/${id}`)];
        expect([streamed.status, streamed.text]).to.deep.equal([collected.status, collected.text]);
        expect(streamed.headers.etag).to.equal(collected.headers.etag);
      }
    }
  });

  it("events: those of an ended task end with done, and who has that one gets 204", async () => {
    for (const condition of ENDED.filter((c) => c !== "deleted")) {
      const at = `/v1/requests/${each.tasks[condition].id}/events`;
      const { status, text } = await server.send(at);
      expect([status, /^event: done$/m.test(text)], condition).to.deep.equal([200, true]);
      const output = await server.send(at.replace("events", "output"));
      const kept = condition === "succeeded" || condition === "failed";
      expect([output.status, output.text === "" ? undefined : output.json.type], condition).to.deep.equal(
        kept ? [200, undefined] : [410, `/problems/${condition}`],
      );
      const headers = { "Last-Event-ID": /^id: ?(.+)$/m.exec(text)?.[1] ?? "" };
      expect((await server.send(at, { headers })).status, condition).to.equal(204);
    }
  });

  it("If-None-Match without wait: 304 at once in every state that has a document", async () => {
    for (const condition of CONDITIONS.filter((c) => c !== "deleted")) {
      const at = `/v1/requests/${each.tasks[condition].id}/status`;
      const { etag } = (await server.send(at)).headers;
      const again = await server.send(at, { headers: { "If-None-Match": `"other", ${etag}` } });
      expect([again.status, again.text, again.headers.etag], condition).to.deep.equal([304, "", etag]);
      expect(again.headers.vary).to.match(/\bAccept\b/);
    }
  });

  it("retry: 409 not-retryable in every state, since only failed tasks can be dead", async () => {
    for (const condition of CONDITIONS.filter((c) => c !== "failed")) {
      const answer = await server.send(`/v1/requests/${each.tasks[condition].id}/retry`, { method: "POST" });
      expect([answer.status, answer.json.type], condition).to.deep.equal([409, "/problems/not-retryable"]);
    }
    const { items } = (await server.send("/v1/queues/failing/dead")).json;
    expect(items.map(({ id }: { id: string }) => id)).to.deep.equal([each.tasks.failed.id]);
  });

  // The last: it ends them all.
  it("canceling: 200 and the document, 202 if it runs, 204 if it has ended, and the same again", async () => {
    const first: Readonly<Record<Condition, number>> = {
      ...{ waiting: 200, scheduled: 200, retrying: 200, running: 202 },
      ...{ succeeded: 204, failed: 204, canceled: 204, expired: 204, deleted: 204 },
    };
    for (const condition of CONDITIONS) {
      const { id } = each.tasks[condition];
      const answer = await server.send(`/v1/requests/${id}`, { method: "DELETE" });
      expect(answer.status, condition).to.equal(first[condition]);
      if (answer.status === 200) expect(answer.json).to.include({ id, state: "canceled", index: null });
      if (answer.status === 202) expect(answer.json).to.include({ id, state: "running", cancelRequested: true });
      if (answer.status === 202) await server.until(id, "canceled");
      expect((await server.send(`/v1/requests/${id}`, { method: "DELETE" })).status, condition).to.equal(204);
      const code = { succeeded: "deleted", failed: "deleted", deleted: "deleted", expired: "expired" };
      const { status, json } = await server.send(`/v1/requests/${id}`);
      const expected = code[condition as "succeeded"] ?? "canceled";
      expect([status, json.type], condition).to.deep.equal([410, `/problems/${expected}`]);
    }
    expect((await server.send("/v1/queues/failing/dead")).json.items).to.deep.equal([]);
  });
});

describe("the contract: combined options of a submission", () => {
  let server: TestServer;
  before(async () => {
    server = await startServer({ MAX_WAITING: "3" });
  });
  after(() => server.stop());

  const submit = (search: string, headers: Record<string, string> = {}, input: unknown = {}) =>
    server.send(`/v1/queues/gated/requests${search}`, { method: "POST", headers, body: input });

  it("dryRun reports the place by priority, none for a delayed task, and never stores anything", async () => {
    const [front, next] = [closedGate(), closedGate()];
    await server.enqueue("gated", front.input);
    await front.entered;
    await server.enqueue("gated", next.input);
    const usual = await submit("?dryRun=true");
    expect([usual.status, Object.keys(usual.json)]).to.deep.equal([200, ["queue", "index", "eta"]]);
    expect(usual.json).to.include({ queue: "gated", index: 1 });
    expect((await submit("?dryRun=true", { Priority: "u=0" })).json.index).to.equal(0);
    expect((await submit("?dryRun=true", { Priority: "u=9" })).json.index).to.equal(1);
    const later = await submit("?dryRun=true&delay=60", { Prefer: "respond-async", "X-Request-Id": "dry" });
    expect(later.status).to.equal(200);
    expect(later.json).to.deep.include({ queue: "gated", index: null });
    expect(later.json.eta).to.include({ seconds: 60, basis: "schedule" });
    expect((await server.send("/v1/requests/dry")).json.type).to.equal("/problems/unknown");
    expect((await submit("?dryRun=true&maxIndex=0")).status).to.equal(200);
    const { waiting, scheduled } = (await server.send("/v1/queues/gated")).json;
    expect({ waiting, scheduled }).to.deep.equal({ waiting: 1, scheduled: 0 });
    front.open();
    next.open();
  });

  it("maxIndex refuses a line that is too long with 503 and Retry-After, but not a delayed or repeated submission", async () => {
    const [front, next] = [closedGate(), closedGate()];
    await server.enqueue("gated-too", front.input);
    await front.entered;
    const at = (search: string) => `/v1/queues/gated-too/requests${search}`;
    const post = (search: string, id: string, input: unknown = next.input) =>
      server.send(at(search), {
        method: "POST",
        headers: { Prefer: "respond-async", "X-Request-Id": id },
        body: input,
      });
    expect((await post("?maxIndex=0", "m1")).status).to.equal(202);
    const long = await post("?maxIndex=0", "m2");
    expect([long.status, long.json.type, long.json.index]).to.deep.equal([503, "/problems/line-too-long", 1]);
    expect((await server.send("/v1/requests/m2")).json.type).to.equal("/problems/unknown");
    expect((await post("?maxIndex=0", "m1")).headers["idempotent-replayed"]).to.equal("true");
    expect((await post("?maxIndex=0&delay=60", "m3")).json).to.include({ state: "scheduled", index: null });
    await server.enqueue("gated-too", { gate: next.name, n: 1 });
    const full = await post("", "m4");
    expect([full.status, full.json.type]).to.deep.equal([503, "/problems/queue-full"]);
    expect(full.json).to.include({ waiting: 2, scheduled: 1 });
    expect((await post("", "m1")).status).to.equal(202);
    front.open();
    next.open();
  });

  it("a wrong option is named before the body is read", async () => {
    const wrong = ["delay=-1", "delay=x", "delay=1e3", "notBefore=tomorrow", "notBefore=2030-02-30T00:00:00Z"];
    const limits = ["deadline=0.5", "deadline=10&delay=10", "presence=4.9s", "presence=61m", "presence=5&presence=5"];
    const more = ["maxIndex=-1", "maxIndex=1.5", "dryRun=yes", "dryRun=true&dryRun=true", "webhook=ftp://a.example/"];
    for (const search of [...wrong, ...limits, ...more]) {
      const { status, json } = await submit(`?${search}`);
      expect([status, json.type], search).to.deep.equal([400, "/problems/invalid-parameter"]);
      expect(json.parameter).to.equal(search.slice(0, search.indexOf("=")));
    }
    const both = await submit("?delay=1&notBefore=2030-01-01T00:00:00Z");
    expect(both.json).to.include({ status: 400, parameter: "notBefore" });
  });
});
