import { expect } from "chai";
import type { Connection } from "../../../src/store/connection.ts";
import { connectOnce } from "../../../src/store/servers/connect-once.ts";
import { closedGate } from "../../helpers/gates.ts";
import { testKeys } from "../../helpers/http/api-keys.ts";
import { readEvents } from "../../helpers/http/events.ts";
import { startServer, type TestServer } from "../../helpers/http/server.ts";
import { startProcess } from "../../helpers/server-process.ts";
import { storeUrl } from "../../helpers/store/run-store.ts";
import { storedKey } from "../../helpers/store/stored.ts";
import { eventually } from "../../shared/eventually.ts";

const ASYNC = { Prefer: "respond-async" };
const DASHBOARD = { "X-Requested-With": "paihao-dashboard" };
/** Longer than any test takes. */
const LONG_MS = 1_800_000;
const keys = testKeys({ ann: ["submit"], reader: ["submit", "read"], admin: ["admin"] });

describe("presence (API: Presence)", () => {
  let server: TestServer;
  let guarded: TestServer;
  let redis: Connection;
  before(async () => {
    server = await startServer();
    guarded = await startServer({ ...keys.env, URL_SIGNING_KEY: "k".repeat(32) });
    redis = await connectOnce(storeUrl());
  });
  after(async () => {
    redis.disconnect();
    await Promise.all([server.stop(), guarded.stop()]);
  });

  const indexOf = (prefix: string, queue: string) => storedKey(`{${prefix}:0}`, "deadlines", queue);
  const until = async (id: string, queue = "default", { prefix } = server) =>
    Number(await redis.zscore(indexOf(prefix, queue), id));
  /**
   * As if nobody had looked for so long that only this is left. One that is over must have been for long: a presence that ends while
   * ticks are late goes on.
   */
  const leave = async (id: string, leftMs: number, queue = "default", { prefix } = server) => {
    const [seconds] = await redis.time();
    const at = Number(seconds) * 1000 + leftMs;
    expect(await redis.zadd(indexOf(prefix, queue), "XX", "CH", at, id), `${id} is kept by looks`).to.equal(1);
    return at;
  };
  const submit = (search: string, headers: Record<string, string> = {}, of = server) =>
    of.send(`/v1/requests${search}`, { method: "POST", headers: { ...ASYNC, ...headers }, body: 1 });
  const idOf = async (answer: ReturnType<typeof submit>) => String((await answer).headers["x-request-id"]);
  const later = (id: string) => submit("?delay=3600&presence=30m", { "X-Request-Id": id });
  const abandoned = (id: string, { log } = server) =>
    eventually(() => log.some((line) => line.requestId === id && /nobody looks/.test(String(line.msg))));

  it("is told in the 202, the 404 and the document, with a Retry-After of a third of it at most", async () => {
    const accepted = await submit("?delay=3600&presence=30s", { "X-Request-Id": "told" });
    expect(accepted.headers).to.include({ presence: "30", "retry-after": "10" });
    const pending = await server.send("/v1/requests/told");
    expect(pending.headers).to.include({ presence: "30", "retry-after": "10" });
    const { headers, json } = await server.send("/v1/requests/told/status");
    expect(headers["retry-after"]).to.equal("10");
    expect(Date.parse(json.presentUntil) - Date.parse(headers.date ?? "")).to.be.within(28_000, 32_000);
    const shortest = await submit("?delay=3600", { Presence: "5" });
    expect(shortest.headers).to.include({ presence: "5", "retry-after": "1" });
    const none = await submit("?delay=3600");
    expect(none.headers).not.to.have.property("presence");
    expect((await server.send(`${none.headers.location}/status`)).json.presentUntil).to.equal(null);
  });

  it("ends when nobody looks: 410 canceled with the reason abandoned, and the next moves up", async () => {
    const gate = closedGate();
    await server.enqueue("gated", gate.input);
    await gate.entered;
    const waiting = await server.enqueue("gated", gate.input, "?presence=30m");
    const behind = await server.enqueue("gated", gate.input);
    await leave(waiting, -LONG_MS, "gated");
    await abandoned(waiting);
    expect(await server.send(`/v1/requests/${waiting}`)).to.deep.include({ status: 410 });
    const { json } = await server.send(`/v1/requests/${waiting}`);
    expect(json).to.include({ type: "/problems/canceled", state: "canceled", reason: "abandoned" });
    const document = (await server.send(`/v1/requests/${waiting}/status`)).json;
    expect(document).to.include({ state: "canceled", presentUntil: null });
    expect(document.error.code).to.equal("abandoned");
    expect((await server.send(`/v1/requests/${behind}`)).json.index).to.equal(0);
    gate.open();
  });

  it("asks a running task to stop: its signal says abandoned", async () => {
    const gate = closedGate();
    const id = await server.enqueue("gated-too", gate.input, "?presence=30m");
    const { signal } = await gate.entered;
    await leave(id, -LONG_MS, "gated-too");
    await abandoned(id);
    await eventually(() => signal.aborted);
    expect(signal.reason.cause).to.equal("abandoned");
    expect((await server.until(id, "canceled")).json.error.code).to.equal("abandoned");
  });

  const looks: Readonly<Record<string, (id: string) => Promise<unknown>>> = {
    "the result": (id) => server.send(`/v1/requests/${id}`),
    "the monitor": (id) => server.send(`/v1/requests/${id}/status`),
    "the page of the task": (id) => server.send(`/v1/requests/${id}/status`, { headers: { Accept: "text/html" } }),
    "its output": (id) => server.send(`/v1/requests/${id}/output`, { headers: { Prefer: "wait=0" } }),
    "a repetition of the submission": later,
    "the first of its events": async (id) => {
      const events = await readEvents(`${server.url}/v1/requests/${id}/events`);
      await events.next();
      events.close();
    },
  };
  it("is kept for its whole length by a look at any of its documents, however soon", async () => {
    for (const [name, look] of Object.entries(looks)) {
      const id = `look-${name.replaceAll(" ", "-")}`;
      await later(id);
      const at = await leave(id, LONG_MS - 2000);
      await look(id);
      expect(await until(id), name).to.be.above(at);
    }
  });

  it("is kept by open streams, long polls and synchronous requests, for as long as they are open", async () => {
    const gate = closedGate();
    const [polled, streamed, synchronous] = ["polled", "streamed", "synchronous"];
    for (const id of [polled, streamed]) await submit(`?delay=3600&presence=30m`, { "X-Request-Id": id });
    const { etag = "" } = (await server.send(`/v1/requests/${polled}/status`)).headers;
    const poll = server.send(`/v1/requests/${polled}/status`, {
      headers: { "If-None-Match": etag, Prefer: "wait=20" },
    });
    const events = await readEvents(`${server.url}/v1/requests/${streamed}/events`);
    await events.next();
    const headers = { "X-Request-Id": synchronous, Presence: "30m" };
    const answer = server.post("gated", gate.input, headers);
    await gate.entered;
    await Promise.all(
      ([[polled], [streamed], [synchronous, "gated"]] as const).map(async ([id, queue]) => {
        const at = await until(id, queue);
        await eventually(async () => (await until(id, queue)) > at);
      }),
    );
    gate.open("done");
    expect((await answer).status).to.equal(200);
    events.close();
    await server.send(`/v1/requests/${polled}`, { method: "DELETE" });
    expect((await poll).status).to.equal(200);
  });

  it("is not kept by the dashboard", async () => {
    await later("operated");
    const at = await leave("operated", LONG_MS / 2);
    for (const path of ["", "/status", "/timeline"])
      await server.send(`/v1/requests/operated${path}`, { headers: DASHBOARD });
    await server.send("/v1/requests/operated/output", { headers: { ...DASHBOARD, Prefer: "wait=0" } });
    await server.send("/v1/queues/default/waiting");
    expect(await until("operated")).to.equal(at);
  });

  it("is kept by its caller and by who has a link to it, but not by operators", async () => {
    const accepted = await submit("?delay=3600&presence=30m", keys.as("ann"), guarded);
    const id = String(accepted.headers["x-request-id"]);
    const at = await leave(id, LONG_MS / 2, "default", guarded);
    for (const who of ["reader", "admin"] as const) {
      expect((await guarded.send(`/v1/requests/${id}/status`, { headers: keys.as(who) })).status).to.equal(202);
    }
    expect(await until(id, "default", guarded)).to.equal(at);
    await guarded.send(String(accepted.headers.location));
    const byLink = await until(id, "default", guarded);
    expect(byLink).to.be.above(at);
    await leave(id, LONG_MS / 2, "default", guarded);
    await guarded.send(`/v1/requests/${id}`, { headers: keys.as("ann") });
    expect(await until(id, "default", guarded)).to.be.at.least(byLink);
  });

  it("is that of the handler unless the submission says otherwise", async () => {
    const gate = closedGate();
    const first = await server.post("present", gate.input, ASYNC);
    expect(first.headers).to.include({ presence: "60" });
    const own = await server.send("/v1/queues/present/requests?presence=2m", {
      ...{ method: "POST", headers: ASYNC, body: gate.input },
    });
    expect(own.headers).to.include({ presence: "120" });
    gate.open();
  });

  it("is dropped when a dead task is retried", async () => {
    const id = await server.enqueue("failing", 1, "?presence=30m");
    await server.until(id, "failed");
    const { headers, json } = await server.send(`/v1/requests/${id}/retry`, { method: "POST" });
    expect(json.presentUntil).to.equal(null);
    expect(headers).not.to.have.property("presence");
  });

  it("is given in the envelopes of a batch", async () => {
    const lines = ['{"id":"line-1","input":1,"presence":"5m","delay":9}', '{"input":1,"presence":5}'].join("\n");
    const [, second] = await server.batch("default", lines, "?envelope=true");
    expect(second.problem).to.include({ type: "/problems/invalid-parameter", parameter: "presence" });
    expect((await server.send("/v1/requests/line-1")).headers).to.include({ presence: "300" });
  });

  it("ends with the process that held the stream, when it was killed", async () => {
    const env = { KEY_PREFIX: server.prefix, PORT: "0", ROLE: "api" };
    const holder = await startProcess(env);
    // Half of it is added if ticks are late.
    const id = await idOf(submit(`?delay=3600&presence=15s`));
    const events = await readEvents(`${holder.url}/v1/requests/${id}/events`);
    await events.next();
    const at = await until(id);
    await eventually(async () => (await until(id)) > at);
    holder.child.kill("SIGKILL");
    expect(await holder.ended).to.equal("SIGKILL");
    // A process that held it would keep it in each second.
    await leave(id, 3000);
    await abandoned(id);
    // It may have to build the command first.
  }).timeout(180_000);
});
