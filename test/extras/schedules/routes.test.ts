import path from "node:path";
import { expect } from "chai";
import { startServer, type TestServer } from "../../helpers/http/server.ts";

const HANDLERS = path.join(import.meta.dirname, "../../fixtures/handlers/clock");
const DEFINITION = { queue: "reports", input: { day: 7 }, cron: "0 3 * * *", timeZone: "Europe/Berlin" };
const DEFAULTS = {
  missed: "once",
  overlap: "queue",
  paused: false,
  declared: false,
  orphan: false,
  last: null,
  history: [],
};

describe("/v1/schedules", () => {
  let server: TestServer;
  before(async () => {
    server = await startServer({ HANDLERS, PARTITIONS: "2", REPLICATE: "true" });
  });
  after(() => server.stop());

  type Headers = Readonly<Record<string, string>>;
  const put = (id: string, body: unknown, headers: Headers = {}) =>
    server.send(`/v1/schedules/${id}`, { method: "PUT", body, headers });
  const ask = (id: string, method = "GET", headers: Headers = {}) =>
    server.send(`/v1/schedules/${id}`, { method, headers });

  it("makes a schedule, changes it, pauses it, and deletes it", async () => {
    const made = await put("nightly", DEFINITION);
    expect([made.status, made.headers.location]).to.deep.equal([201, "/v1/schedules/nightly"]);
    const { next, ...shown } = made.json;
    expect(shown).to.deep.equal({ id: "nightly", ...DEFINITION, ...DEFAULTS });
    expect(next.map((time: string) => new Date(time).toLocaleTimeString("de", { timeZone: "Europe/Berlin" }))).to.eql(
      Array(5).fill("03:00:00"),
    );
    expect((await ask("nightly")).json).to.deep.equal(made.json);

    const paused = await put("nightly", { ...DEFINITION, label: "by night", paused: true });
    expect([paused.status, paused.json.label, paused.json.paused, paused.json.next]).to.eql([
      200,
      "by night",
      true,
      [],
    ]);
    const resumed = await put("nightly", DEFINITION);
    expect(resumed.json.next).to.deep.equal(next);

    expect((await ask("nightly", "DELETE")).status).to.equal(204);
    const { json: events } = await server.send("/v1/events");
    const told = events.items.filter(({ kind }: { kind: string }) => kind === "settings-changed");
    expect(told.map(({ detail }: { detail: string }) => detail)).to.deep.equal([
      "delete schedule nightly",
      ...Array(3).fill("set schedule nightly"),
    ]);
    const gone = await ask("nightly");
    expect([gone.status, gone.json.type]).to.deep.equal([404, "/problems/unknown"]);
    expect((await ask("nightly", "DELETE")).status).to.equal(404);
  });

  it("includes the times at which it starts and ends", async () => {
    const [startAt, endAt] = ["2100-01-01T00:00:00Z", "2100-01-01T00:02:00Z"];
    const { json } = await put("short", { queue: "reports", input: { day: 1 }, every: "1m", startAt, endAt });
    expect(json.next).to.deep.equal([0, 1, 2].map((minute) => `2100-01-01T00:0${minute}:00.000Z`));
    await ask("short", "DELETE");
  });

  it("runs a task of it now, which touches neither its last time nor the next ones", async () => {
    const { json: before } = await put("later", DEFINITION);
    const run = () =>
      server.send("/v1/schedules/later/run", { method: "POST", headers: { "X-Request-Id": "run-now" } });
    const answer = await run();
    expect(answer.status).to.equal(202);
    expect(answer.json).to.include({ id: "run-now", queue: "reports", state: "waiting" });
    expect((await run()).headers["idempotent-replayed"]).to.equal("true");
    expect((await server.send("/v1/requests/run-now/input")).json).to.deep.equal({ day: 7 });
    expect((await ask("later")).json).to.deep.equal(before);
    expect((await server.send("/v1/schedules/no/run", { method: "POST" })).status).to.equal(404);
  });

  it("lists schedules by their ids, page by page", async () => {
    for (const id of ["b", "a", "B"]) await put(id, DEFINITION);
    const ids: string[] = [];
    for (let cursor: string | null = ""; cursor !== null; ) {
      const { json } = await server.send(`/v1/schedules?limit=2${cursor && `&cursor=${cursor}`}`);
      ids.push(...json.items.map(({ id }: { id: string }) => id));
      cursor = json.next;
    }
    expect(ids).to.deep.equal(["B", "a", "b", "later", "reports.often"]);
  });

  it("keeps a page of long schedules short", async () => {
    const long = { ...DEFINITION, input: { day: 1, text: "x".repeat(700_000) } };
    for (const id of ["long-1", "long-2", "long-3"]) await put(id, long);
    const first = await server.send("/v1/schedules?cursor=later");
    expect(first.json.items.map(({ id }: { id: string }) => id)).to.deep.equal(["long-1", "long-2"]);
    const second = await server.send(`/v1/schedules?cursor=${first.json.next}`);
    expect(second.json.items.map(({ id }: { id: string }) => id)).to.deep.equal(["long-3", "reports.often"]);
    expect(second.json.next).to.equal(null);
    for (const id of ["long-1", "long-2", "long-3"]) await ask(id, "DELETE");
  });

  it("changes and deletes one only on the conditions of the request", async () => {
    const failed = async (answer: ReturnType<typeof put>) => {
      const { status, json } = await answer;
      expect([status, json.type]).to.deep.equal([412, "/problems/precondition-failed"]);
    };
    await failed(put("guarded", DEFINITION, { "If-Match": "*" }));
    const made = await put("guarded", DEFINITION, { "If-None-Match": "*" });
    expect(made.status).to.equal(201);
    await failed(put("guarded", { ...DEFINITION, label: "a" }, { "If-None-Match": "*" }));
    const { etag = "" } = (await ask("guarded")).headers as { etag?: string };
    expect(made.headers.etag).to.equal(etag);
    await failed(put("guarded", { ...DEFINITION, label: "a" }, { "If-Match": '"another"' }));

    // Of two that have read the same one succeeds.
    const both = await Promise.all(
      ["a", "b"].map((label) => put("guarded", { ...DEFINITION, label }, { "If-Match": etag })),
    );
    expect(both.map(({ status }) => status).sort()).to.deep.equal([200, 412]);

    await failed(ask("guarded", "DELETE", { "If-Match": etag }));
    await failed(ask("guarded", "DELETE", { "If-None-Match": "*" }));
    const { headers } = await ask("guarded");
    expect((await ask("guarded", "DELETE", { "If-Match": String(headers.etag) })).status).to.equal(204);
    expect((await ask("guarded", "DELETE", { "If-Match": "*" })).status).to.equal(404);
  });

  it("lets one that a handler declares be paused and run, but not changed or deleted", async () => {
    const { json } = await ask("reports.often");
    expect(json).to.include({ declared: true, orphan: false, every: "1h" });
    const { id: _, declared: __, orphan: ___, next: ____, last: _____, history: ______, ...sent } = json;
    expect((await put("reports.often", { ...sent, paused: true })).json).to.include({ paused: true, declared: true });
    for (const refused of [await put("reports.often", { ...sent, every: "2h" }), await ask("reports.often", "DELETE")])
      expect([refused.status, refused.json.type]).to.deep.equal([409, "/problems/declared"]);
    expect((await server.send("/v1/schedules/reports.often/run", { method: "POST" })).status).to.equal(202);
  });

  for (const [what, change, code, named] of [
    ["an unknown queue", { queue: "report" }, "invalid-parameter", "queue"],
    ["an unknown zone", { timeZone: "Mars" }, "invalid-parameter", "timeZone"],
    ["an unknown member", { retries: 1 }, "invalid-parameter", "retries"],
    ["a member of another type", { paused: "no" }, "invalid-parameter", "paused"],
    ["seven fields", { cron: "0 0 3 * * * 2030" }, "invalid-parameter", "cron"],
    ["an input that the queue does not accept", { input: { day: "x" } }, "invalid-input", undefined],
  ] as const) {
    it(`refuses ${what}`, async () => {
      const { status, json } = await put("wrong", { ...DEFINITION, ...change });
      expect([status, json.type, json.parameter]).to.deep.equal([400, `/problems/${code}`, named]);
      expect((await ask("wrong")).status).to.equal(404);
    });
  }

  it("keeps the ids of its tasks from callers, whichever way they choose one", async () => {
    const id = "nightly~20261129T030000Z";
    const input = { day: 1 };
    for (const path of [`/v1/requests/${id}`, `/v1/queues/reports/requests/${id}`]) {
      const { status, json } = await server.send(path, { method: "PUT", body: input });
      expect([status, json.type, json.parameter]).to.deep.equal([400, "/problems/invalid-parameter", "id"]);
    }
    const headers = { "X-Request-Id": id, Prefer: "respond-async" };
    for (const [path, body] of [
      ["/v1/queues/reports/requests", input],
      ["/v1/schedules/later/run", undefined],
      ["/replicate/v1/models/me/reports/predictions", { input }],
    ] as const) {
      const { status, json } = await server.send(path, { method: "POST", headers, body });
      expect(status, path).to.be.within(200, 299);
      expect(json.id).to.not.include("~");
    }
    const [{ problem }] = await server.batch("reports", JSON.stringify({ id, input }), "?envelope=true");
    expect(problem).to.include({ status: 400, parameter: "id" });
    expect((await server.send(`/v1/requests/${id}/status`)).status).to.equal(404);
  });

  it("refuses an id that is too long for those of its tasks", async () => {
    expect((await put("x".repeat(65), DEFINITION)).json).to.include({
      type: "/problems/invalid-parameter",
      parameter: "id",
    });
  });
});
