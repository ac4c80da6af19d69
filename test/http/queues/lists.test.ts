import { expect } from "chai";
import { closedGate } from "../../helpers/gates.ts";
import { testKeys } from "../../helpers/http/api-keys.ts";
import { startServer, type TestServer } from "../../helpers/http/server.ts";
import { eventually } from "../../shared/eventually.ts";

const ASYNC = { Prefer: "respond-async" };

describe("the lists of a queue over HTTP, for an operator", () => {
  const keys = testKeys({ ann: ["submit"], bob: ["submit"], watch: ["read"], root: ["admin"] });
  let server: TestServer;
  before(async () => {
    server = await startServer({ ...keys.env, REPLICATE: "true" });
  });
  after(() => server.stop());

  type Name = "ann" | "bob" | "watch" | "root";
  const submit = async (name: Name, queue: string, input: unknown, id: string, search = "") => {
    const headers = { ...ASYNC, ...keys.as(name), "X-Request-Id": id };
    await server.send(`/v1/queues/${queue}/requests${search}`, { method: "POST", headers, body: input });
  };
  /** So many scheduled tasks of a caller, with ids that begin so. */
  const schedule = async (name: Name, begin: string, count: number) => {
    // Those of one millisecond are listed by their ids.
    const ids = Array.from({ length: count }, (_, n) => `${begin}-${String(n).padStart(4, "0")}`);
    const lines = ids.map((id) => JSON.stringify({ id, input: { width: 1 } })).join("\n");
    await server.batch("checked", lines, "?envelope=true&delay=600", keys.as(name));
  };
  const list = async (path: string) => (await server.send(`/v1/queues/${path}`, { headers: keys.as("watch") })).json;
  const ids = async (path: string) => (await list(path)).items.map(({ id }: { id: string }) => id);
  const bulk = (queue: string, body: unknown, name: Name = "root") =>
    server.send(`/v1/queues/${queue}/bulk`, { method: "POST", headers: keys.as(name), body });
  const audits = () => server.log.filter(({ audit }) => audit !== undefined);

  it("show who submitted a task, its line key, its worker, and when it is due", async () => {
    const gate = closedGate();
    await submit("ann", "gated", gate.input, "l-run");
    await gate.entered;
    await submit("bob", "gated", gate.input, "l-wait");
    await submit("ann", "gated", gate.input, "l-later", "?delay=600");
    const [running] = (await list("gated/running")).items;
    expect(running).to.include({ id: "l-run", caller: "ann", key: null, dueAt: null, lost: 0 });
    expect(running.worker).to.match(new RegExp(`:${process.pid}:[0-9a-f]{8}$`));
    const [later] = (await list("gated/scheduled")).items;
    expect(later).to.include({ id: "l-later", state: "scheduled", caller: "ann", worker: null });
    expect(Date.parse(later.dueAt) - Date.now()).to.be.within(500_000, 600_000);
    expect(await ids("gated/waiting?caller=bob&idPrefix=l-w")).to.deep.equal(["l-wait"]);
    expect(await ids("gated/waiting?caller=ann")).to.deep.equal([]);
    expect(await ids("gated/waiting?olderThan=1h")).to.deep.equal([]);
    expect(await ids("gated/scheduled?state=retrying")).to.deep.equal([]);
    gate.open();
  });

  it("show the keys of fair lines", async () => {
    await server.send("/v1/queues/fair-callers/pause", { method: "POST", headers: keys.as("root") });
    await submit("ann", "fair-callers", closedGate().input, "f-1");
    const [{ key }] = (await list("fair-callers/waiting")).items;
    expect(key).to.equal("key ann");
    expect(await ids("fair-callers/waiting?key=key%20ann")).to.deep.equal(["f-1"]);
    expect(await ids("fair-callers/waiting?key=key%20bob")).to.deep.equal([]);
  });

  it("refuse wrong filters, and name them", async () => {
    for (const wrong of ["idPrefix=a%20b", "caller=", "state=running", "olderThan=soon", "olderThan=-1", "key=%00"]) {
      const answer = await server.send(`/v1/queues/gated/waiting?${wrong}`, { headers: keys.as("watch") });
      expect([answer.status, answer.json.parameter], wrong).to.deep.equal([400, wrong.split("=")[0]]);
    }
  });

  it("are canceled, retried and deleted by a filter, in steps, each with a line in the log", async () => {
    await schedule("ann", "b-a", 60);
    await schedule("bob", "b-b", 60);
    const asked = { action: "cancel", list: "scheduled", idPrefix: "b-", caller: "ann" };
    const counted = (await bulk("checked", { ...asked, dryRun: true })).json;
    expect(counted).to.include({ matched: 60, done: 0, next: null });
    const before = audits().length;
    const { status, json } = await bulk("checked", asked);
    expect(status).to.equal(200);
    expect(json).to.include({ matched: 60, done: 60, next: null });
    expect(
      audits()
        .slice(before)
        .map(({ audit, by, queue, caller, done }) => ({ audit, by, queue, caller, done })),
    ).to.deep.equal([{ audit: "cancel", by: "root", queue: "checked", caller: "ann", done: 60 }]);
    expect(await ids("checked/finished?state=canceled&caller=ann&limit=200")).to.have.length(60);
    expect(await ids("checked/scheduled?limit=200")).to.have.length(60);

    for (const n of [1, 2, 3]) await submit("ann", "failing", n, `d-${n}`);
    await eventually(async () => (await ids("failing/dead")).length === 3);
    expect((await bulk("failing", { action: "delete", list: "dead", idPrefix: "d-1" })).json).to.include({ done: 1 });
    expect((await bulk("failing", { action: "retry", list: "dead", olderThan: 0 })).json).to.include({ done: 2 });
  });

  it("continue where a step ended", async () => {
    await schedule("bob", "s", 130);
    const asked = { action: "cancel", list: "scheduled", idPrefix: "s-" };
    const first = (await bulk("checked", asked)).json;
    expect(first).to.include({ matched: 100, done: 100 });
    const second = (await bulk("checked", { ...asked, cursor: first.next })).json;
    expect(second).to.include({ matched: 30, done: 30, next: null });
    expect((await bulk("checked", { ...asked, cursor: "x.1" })).status).to.equal(400);
    expect((await bulk("checked", { ...asked, cursor: "x" })).json.parameter).to.equal("cursor");
  });

  it("are searched, in one queue or all, for a part of an id, a label or a line key, as far as the answer says", async () => {
    await server.send("/v1/queues/fair-callers/pause", { method: "POST", headers: keys.as("root") });
    await submit("bob", "fair-callers", closedGate().input, "needle-1", "?label=Hay%20%C3%A9t%C3%A9");
    await submit("root", "fair-callers", closedGate().input, "f-2");
    await submit("ann", "checked", { width: 1 }, "c-1", "?delay=600&label=The%20Needle");
    await submit("ann", "checked", { width: 1 }, "needle", "?delay=600");
    const found = async (text: string) => {
      const { json } = await server.send(`/v1/search?text=${text}`, { headers: keys.as("watch") });
      return [json.items.map(({ id }: { id: string }) => id), json.complete, json.scanned > 0];
    };
    expect(await found("needle")).to.deep.equal([["needle", "needle-1", "c-1"], true, true]);
    expect(await found("hay%20%C3%A9t")).to.deep.equal([["needle-1"], true, true]);
    expect(await found("Key%20Ro")).to.deep.equal([["f-2"], true, true]);
    expect(await found("%25d")).to.deep.equal([[], true, true]);
    expect(await ids("fair-callers/waiting?text=NEEDLE")).to.deep.equal(["needle-1"]);
    const { json } = await bulk("checked", { action: "cancel", list: "scheduled", text: "needle" });
    expect(json.done).to.equal(2);
    for (const [wrong, name, status] of [
      ["", "watch", 400],
      ["?text=", "watch", 400],
      ["?text=x", "ann", 403],
    ] as const) {
      const answer = await server.send(`/v1/search${wrong}`, { headers: keys.as(name) });
      expect(answer.status, wrong).to.equal(status);
    }
  });

  it("are found by a label or line key however its accents are written, as composed letters or apart", async () => {
    const [composed, apart] = ["Z\u00fcrich", "Zu\u0308rich"];
    await submit("ann", "checked", { width: 1 }, "u-1", `?delay=600&label=${encodeURIComponent(composed)}`);
    await submit("ann", "checked", { width: 1 }, "u-2", `?delay=600&label=${encodeURIComponent(apart)}`);
    for (const text of [composed, apart]) {
      const asked = encodeURIComponent(text.slice(0, 4));
      const { json } = await server.send(`/v1/search?text=${asked}`, { headers: keys.as("watch") });
      expect(json.items.map(({ id }: { id: string }) => id)).to.deep.equal(["u-1", "u-2"]);
      expect(await ids(`checked/scheduled?text=${asked}`)).to.deep.equal(["u-1", "u-2"]);
    }
    const { json } = await bulk("checked", { action: "cancel", list: "scheduled", text: composed });
    expect(json.done).to.equal(2);
  });

  it("are searched by a few requests at a time in turn; one more is told to come back", async () => {
    await schedule("ann", "turn", 2000);
    const look = () => server.send("/v1/search?text=no-such-task", { headers: keys.as("watch") });
    const answers = await Promise.all(Array.from({ length: 12 }, look));
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused.length).to.equal(4);
    expect([refused[0]?.json.type, refused[0]?.headers["retry-after"]]).to.deep.equal(["/problems/rate-limited", "2"]);
    for (const { json, status } of answers)
      if (status === 200) expect([json.items, json.complete]).to.deep.equal([[], true]);
    for (const path of ["checked/scheduled?text=no-such-task", "failing/dead/errors"])
      expect((await server.send(`/v1/queues/${path}`, { headers: keys.as("watch") })).status, path).to.equal(200);
    await bulk("checked", { action: "cancel", list: "scheduled", idPrefix: "turn-" });
  });

  it("are searched for a filter much further than one page", async () => {
    await schedule("ann", "p", 1100);
    const { items, next, scanned } = await list("checked/scheduled?idPrefix=p-1099&limit=1");
    expect(items.map(({ id }: { id: string }) => id)).to.deep.equal(["p-1099"]);
    expect(next).to.equal(null);
    expect(scanned).to.be.at.least(1100);
    const { json } = await server.send("/v1/search?text=p-", { headers: keys.as("watch") });
    expect([json.items.length, json.complete]).to.deep.equal([50, false]);
    const last = (await server.send("/v1/search?text=p-1099", { headers: keys.as("watch") })).json;
    expect(last.items.map(({ id }: { id: string }) => id)).to.deep.equal(["p-1099"]);
  });

  it("refuse actions that do not apply to a list, and keys without admin", async () => {
    for (const body of [
      { action: "retry", list: "waiting" },
      { action: "cancel", list: "dead" },
      { action: "delete", list: "running" },
      { action: "cancel", list: "waiting", state: "failed" },
      { action: "explode", list: "waiting" },
      { list: "waiting" },
      { action: "cancel", list: "waiting", more: 1 },
    ]) {
      const answer = await bulk("checked", body);
      expect([answer.status, answer.json.type], JSON.stringify(body)).to.deep.equal([400, "/problems/invalid-input"]);
    }
    expect((await bulk("checked", { action: "cancel", list: "waiting" }, "watch")).status).to.equal(403);
    expect((await bulk("nowhere", { action: "cancel", list: "waiting" })).status).to.equal(404);
  });

  it("have a line in the log for every single action, but not for callers who cancel their own", async () => {
    await submit("ann", "checked", { width: 3 }, "a-own", "?delay=600");
    await submit("ann", "checked", { width: 3 }, "a-other", "?delay=600");
    await submit("ann", "checked", { width: 3 }, "a-predicted", "?delay=600");
    const { id } = (await server.send("/api/v1/task?queue=checked", { headers: keys.as("ann") })).json;
    const allocated = `/api/v1/task/${id}`;
    await server.send(`${allocated}?delay=600`, { method: "POST", headers: keys.as("ann"), body: { width: 3 } });
    const before = audits().length;
    await server.send("/v1/requests/a-own", { method: "DELETE", headers: keys.as("ann") });
    await server.send("/v1/requests/a-other", { method: "DELETE", headers: keys.as("root") });
    const cancel = "/replicate/v1/predictions/a-predicted/cancel";
    for (const _ of [1, 2]) await server.send(cancel, { method: "POST", headers: keys.as("root") });
    expect((await server.send(allocated, { method: "DELETE", headers: keys.as("root") })).status).to.equal(204);
    await server.send("/v1/queues/checked/pause", { method: "POST", headers: keys.as("root") });
    await server.send("/v1/queues/checked/resume", { method: "POST", headers: keys.as("root") });
    expect(
      audits()
        .slice(before)
        .map(({ audit, by, id }) => [audit, by, id]),
    ).to.deep.equal([
      ["cancel", "root", "a-other"],
      ["cancel", "root", "a-predicted"],
      ["cancel", "root", id],
      ["pause", "root", undefined],
      ["resume", "root", undefined],
    ]);
  });
});
