import path from "node:path";
import { expect } from "chai";
import { closedGate } from "../../helpers/gates.ts";
import { testKeys } from "../../helpers/http/api-keys.ts";
import { startServer, type TestServer } from "../../helpers/http/server.ts";
import { eventually } from "../../shared/eventually.ts";

const ASYNC = { Prefer: "respond-async" };

describe("the timeline of a task", () => {
  const keys = testKeys({ ann: ["submit"], bob: ["submit"], watch: ["read"], root: ["admin"], arm: ["work"] });
  let server: TestServer;
  before(async () => {
    server = await startServer({ ...keys.env, ATTEMPTS: "2" });
  });
  after(() => server.stop());

  type Name = "ann" | "bob" | "watch" | "root" | "arm";
  const submit = (queue: string, input: unknown, id: string, search = "") =>
    server.send(`/v1/queues/${queue}/requests${search}`, {
      method: "POST",
      headers: { ...ASYNC, ...keys.as("ann"), "X-Request-Id": id },
      body: input,
    });
  const timeline = async (id: string, name: Name = "watch") =>
    (await server.send(`/v1/requests/${encodeURIComponent(id)}/timeline`, { headers: keys.as(name) })).json;
  const ended = (id: string) => eventually(async () => (await timeline(id)).task?.finishedAt);

  it("has the attempt that runs, then its end, the input and the result", async () => {
    const gate = closedGate();
    await submit("gated", gate.input, "t-1", "?priority=x&page=2");
    await gate.entered;
    const running = await timeline("t-1");
    expect(running.task).to.include({ id: "t-1", state: "running" });
    expect(running.attempts).to.have.length(1);
    expect(running.attempts[0]).to.include({ number: 1, outcome: "running", endedAt: null, error: null });
    expect(running.attempts[0].worker).to.match(new RegExp(`:${process.pid}:`));
    expect(running).to.include({ caller: "ann", priority: 3, key: null, undo: null, result: null });
    expect(running.query).to.include({ page: "2" });
    expect(running.input).to.deep.include({ mediaType: "application/json", truncated: false, json: gate.input });
    gate.open({ fine: true });
    await ended("t-1");
    const { attempts, result } = await timeline("t-1");
    expect(attempts[0]).to.include({ number: 1, outcome: "succeeded" });
    expect(Date.parse(attempts[0].endedAt)).to.be.at.least(Date.parse(attempts[0].startedAt));
    expect(result).to.deep.include({ status: 200, truncated: false, json: { fine: true } });
  });

  it("has every attempt that failed; only operators see who ran it and why it failed", async () => {
    await submit("failing", 1, "t-2");
    await ended("t-2");
    const { attempts } = await timeline("t-2");
    expect(attempts.at(-1)).to.include({ outcome: "failed" });
    expect(attempts.at(-1).error).to.be.a("string").and.not.equal("");
    const own = await timeline("t-2", "ann");
    expect(own.attempts).to.have.length(attempts.length);
    expect(attempts.at(-1).stack).to.match(/^Error: [^\n]*\n {4}at .*fixtures\/handlers.*:\d+:\d+/);
    for (const { worker, error, stack, log } of own.attempts)
      expect([worker, error, stack, log]).to.deep.equal([null, null, null, []]);
    await server.send("/v1/requests/t-2/retry", { method: "POST", headers: keys.as("root") });
    await eventually(async () => (await timeline("t-2")).attempts.length > attempts.length + 1);
    const outcomes = (await timeline("t-2")).attempts.map(({ outcome }: { outcome: string }) => outcome);
    expect(outcomes.slice(0, attempts.length + 1)).to.deep.equal([
      ...attempts.slice(0, -1).map(({ outcome }: { outcome: string }) => outcome),
      "dead",
      "retried",
    ]);
    await submit("giving-up", { status: 422, title: "No" }, "t-gave-up");
    await ended("t-gave-up");
    const answered = await timeline("t-gave-up");
    expect([answered.attempts[0].error, answered.attempts[0].stack]).to.deep.equal(["No", null]);
  });

  it("is unknown to others, and gone with a deleted task", async () => {
    await submit("answers", { kind: "json" }, "t-3");
    await ended("t-3");
    const of = (name: Name) => server.send("/v1/requests/t-3/timeline", { headers: keys.as(name) });
    expect((await of("ann")).status).to.equal(200);
    expect((await of("bob")).json.type).to.equal("/problems/unknown");
    expect((await of("arm")).status).to.equal(403);
    await server.send("/v1/requests/t-3", { method: "DELETE", headers: keys.as("ann") });
    expect((await of("ann")).json.type).to.equal("/problems/deleted");
    expect((await timeline("nobody")).type).to.equal("/problems/unknown");
  });

  it("shows text as text, but neither bytes nor long values", async () => {
    for (const kind of ["text", "bytes", "nothing"]) await submit("answers", { kind }, `t-${kind}`);
    for (const kind of ["text", "bytes", "nothing"]) await ended(`t-${kind}`);
    expect((await timeline("t-text")).result.text).to.be.a("string");
    expect((await timeline("t-bytes")).result).not.to.have.any.keys("text", "json");
    await submit("default", { seconds: 600, filler: "x".repeat(30_000) }, "t-long", "?delay=600");
    const { input, dueAt } = await timeline("t-long");
    expect(input).to.deep.equal({ mediaType: "application/json", bytes: 30_027, truncated: true });
    expect(Date.parse(dueAt)).to.be.above(Date.now());
  });

  it("comes with the input as a file, for callers who may see the timeline, as long as it is kept", async () => {
    const of = (id: string, name: Name = "watch") =>
      server.send(`/v1/requests/${id}/input`, { headers: keys.as(name) });
    const text = `{ "seconds": 600.0, "filler": "${"é".repeat(150_000)}" }`;
    await server.send("/v1/queues/default/requests?delay=600", {
      method: "POST",
      headers: { ...ASYNC, ...keys.as("ann"), "X-Request-Id": "i-long", "Content-Type": "application/json" },
      body: text,
    });
    for (const name of ["ann", "watch", "root"] as const) {
      const { status, headers, text: received } = await of("i-long", name);
      expect([status, received === text]).to.deep.equal([200, true]);
      expect(headers).to.include({
        "content-type": "application/json",
        "content-disposition": 'attachment; filename="i-long.json"',
        "content-security-policy": "sandbox",
        "cache-control": "no-store",
      });
    }
    await submit("default", 7, "i-short.json", "?delay=600");
    expect((await of("i-short.json")).headers["content-disposition"]).to.equal('attachment; filename="i-short.json"');
    expect((await of("i-short.json")).text).to.equal("7");
    expect((await of("i-long", "bob")).json.type).to.equal("/problems/unknown");
    expect((await of("i-long", "arm")).status).to.equal(403);
    expect((await of("nobody")).json.type).to.equal("/problems/unknown");
    await server.send("/v1/requests/i-long", { method: "DELETE", headers: keys.as("ann") });
    expect((await of("i-long")).text === text, "kept after the cancel").to.equal(true);
  });

  it("has the live workers, and what they run", async () => {
    const gate = closedGate();
    await submit("gated-too", gate.input, "w-1");
    await gate.entered;
    const lease = { method: "POST", headers: keys.as("arm"), body: { worker: "python-7" } };
    await submit("checked", { width: 1 }, "w-other");
    await eventually(async () => {
      const { items } = (await server.send("/v1/workers", { headers: keys.as("watch") })).json;
      return items.some(({ running }: { running: { id: string }[] }) => running.some(({ id }) => id === "w-1"));
    });
    await server.send("/v1/queues/gated/leases", { ...lease, headers: { ...lease.headers, Prefer: "wait=0" } });
    const { items, truncated } = (await server.send("/v1/workers", { headers: keys.as("watch") })).json;
    expect(truncated).to.equal(false);
    const own = items.find(({ kind }: { kind: string }) => kind === "process");
    expect(own).to.include({ pid: process.pid, role: "all" });
    expect(own.version).to.match(/^\d+\.\d+\.\d+/);
    expect(own.host).to.be.a("string");
    expect(own.slots).to.include({ "gated-too": 1 });
    expect(own.running).to.deep.include.members([
      { id: "w-1", queue: "gated-too", attempt: 1, startedAt: own.running[0].startedAt },
    ]);
    expect(Date.now() - Date.parse(own.seenAt)).to.be.within(-2000, 10_000);
    expect(items).to.deep.include.members([
      {
        ...{
          id: "python-7",
          kind: "remote",
          host: null,
          pid: null,
          role: null,
          version: null,
          appVersion: null,
          startedAt: null,
          lostAt: null,
        },
        ...{
          slots: { gated: 1 },
          quiet: false,
          actions: [],
          running: [],
          seenAt: items.find(({ id }: { id: string }) => id === "python-7").seenAt,
        },
      },
    ]);
    expect((await server.send("/v1/workers", { headers: keys.as("ann") })).status).to.equal(403);
    gate.open();
  });
});

describe("the timeline of a task that is undone, and whose webhook is told", () => {
  it("has the undo with its steps, and each delivery with its attempts", async () => {
    const server = await startServer({
      HANDLERS: path.join(import.meta.dirname, "../../fixtures/handlers/undo"),
      WEBHOOK_ALLOW: "127.0.0.1/32",
      WEBHOOK_SECRET: `whsec_${Buffer.from("0123456789abcdef0123456789abcdef").toString("base64")}`,
    });
    try {
      await server.send("/v1/queues/paihao.undo/pause", { method: "POST" });
      const id = await server.enqueue("booking", { undoable: true }, "?webhook=http://127.0.0.1:9/none");
      await server.until(id, "failed");
      const timeline = async (of = id) => (await server.send(`/v1/requests/${of}/timeline`)).json;
      await eventually(async () => (await timeline()).webhooks[0]?.attempts.length > 0);
      const { undo, steps, webhooks } = await timeline();
      expect(undo).to.include({ state: "waiting", attempt: 0, finishedAt: null });
      expect(steps.length).to.be.above(0);
      for (const step of steps) expect(step).to.include({ undoable: true, undoneAt: null, truncated: false });
      expect(webhooks).to.have.length(1);
      expect(webhooks[0]).to.include({ url: "http://127.0.0.1:9/none", state: "retrying", attempt: 1 });
      expect(webhooks[0].attempts[0]).to.include({ number: 1, outcome: "retrying" });
      expect(webhooks[0].attempts[0].error).to.be.a("string").and.not.equal("");
      // The server's own tasks have timelines too.
      expect((await timeline(encodeURIComponent(webhooks[0].id))).task.queue).to.equal("paihao.webhooks");
      expect((await timeline(encodeURIComponent(undo.id))).task.state).to.equal("waiting");
      await server.send("/v1/queues/paihao.undo/resume", { method: "POST" });
      await server.until(encodeURIComponent(undo.id), "succeeded");
      const after = await timeline();
      expect(after.undo).to.include({ state: "succeeded" });
      const undone = steps.map((step: object) => ({ ...step, state: "undone", undoneAt: after.undo.finishedAt }));
      expect(after.steps).to.deep.equal(undone);
      expect((await timeline(encodeURIComponent(undo.id))).steps).to.deep.equal(undone);
    } finally {
      await server.stop();
    }
  });
});
