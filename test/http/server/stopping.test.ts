import { once } from "node:events";
import { readFileSync } from "node:fs";
import http from "node:http";
import { expect } from "chai";
import type { Handler } from "../../../src/handler/define.ts";
import { connectOnce } from "../../../src/store/servers/connect-once.ts";
import * as fixtures from "../../fixtures/handlers/workers/handlers.ts";
import { readEvents } from "../../helpers/http/events.ts";
import { type Answer, exchange, type Sent } from "../../helpers/http/server.ts";
import { refuses } from "../../helpers/process.ts";
import { openProcesses, type ProcessGroup } from "../../helpers/process-group.ts";
import { storeUrl } from "../../helpers/store/run-store.ts";
import { listenersOf } from "../../helpers/store/scan.ts";
import type { Workshop } from "../../helpers/workshop.ts";
import { eventually } from "../../shared/eventually.ts";

/** How many connections wait to be accepted there. Linux only. */
function backlogOf(url: string): number {
  const local = `:${Number(new URL(url).port).toString(16).toUpperCase().padStart(4, "0")}`;
  const sockets = readFileSync("/proc/net/tcp", "utf8")
    .split("\n")
    .map((line) => line.trim().split(/\s+/));
  const [, , , , queues = ""] = sockets.find(([, at, , state]) => at?.endsWith(local) && state === "0A") ?? [];
  return Number.parseInt(queues.split(":")[1] ?? "0", 16);
}

/** Longer than any test takes, and the longest that a server allows. */
const LONG = "600s";

describe("a server that is told to stop", function () {
  this.timeout(60_000);
  let group: ProcessGroup;
  let shop: Workshop;
  let journal: string;

  beforeEach(async () => {
    group = await openProcesses("workers", [fixtures.slow, fixtures.pill], { timeless: true });
    ({ shop, journal } = group);
  });
  afterEach(() => group.close());

  const start = (env: Readonly<Record<string, string>>) =>
    group.start({ PORT: "0", SYNC_LIMIT: LONG, DRAIN_TIMEOUT: LONG, ...env });
  const submit = (url: string, id: string, headers: Sent["headers"] = {}): Promise<Answer> =>
    exchange(new URL("/v1/queues/slow/requests", url), {
      method: "POST",
      headers: { "X-Request-Id": id, ...headers },
      body: { journal, ms: 1 },
    });
  const inLine = (count: number) =>
    eventually(async () => (await shop.engine.queues.figures(["slow"]))[0]?.snapshot.waiting === count);
  /** Resolves when a worker asks for work there, and whatever was sent before this call has arrived. */
  const allHeld = async (url: string) => {
    const redis = await connectOnce(storeUrl());
    const channel = shop.engine.keys.workChannel(0, "pill");
    await eventually(async () => (await listenersOf(redis, channel)) > 0).finally(() => redis.disconnect());
    await exchange(new URL("/healthz", url));
  };
  const ids = (count: number) => Array.from({ length: count }, (_, n) => `caller-${n}`);

  it("answers all waiting requests, for results, changes or work, and accepts no new connections meanwhile", async () => {
    const { url, child, ended } = await start({ ROLE: "api" });
    const held = ids(6).map((id) => submit(url, id));
    await inLine(6);
    const monitor = new URL("/v1/requests/caller-0/status", url);
    const { headers } = await exchange(monitor);
    const changed = exchange(monitor, { headers: { "If-None-Match": String(headers.etag), Prefer: "wait=600" } });
    held.push(exchange(new URL("?onPending=synchronous", monitor)));
    const lease = exchange(new URL("/v1/queues/pill/leases", url), { method: "POST", body: {} });
    const events = await readEvents(new URL("/v1/requests/caller-0/events", url).href);
    await events.next();
    await allHeld(url);
    child.kill("SIGTERM");
    await events.closed;
    await eventually(() => refuses(url));
    const work = await shop.submit({ journal }, { queue: "pill" });
    expect((await lease).json.items[0]).to.include({ id: work });
    await shop.worker({ handlers: new Map([["slow", fixtures.slow as Handler]]) });
    const answers = await Promise.all(held);
    expect(answers.map(({ status }) => status)).to.deep.equal(new Array(7).fill(200));
    expect((await changed).json)
      .to.have.property("state")
      .not.equal("waiting");
    expect(await ended).to.equal(0);
  });

  it("continues with the tasks that its callers wait for, and those ahead of them", async () => {
    const { url, child, ended } = await start({ ROLE: "all" });
    await shop.engine.queues.pause("slow", true);
    const held = ids(20).map((id) => submit(url, id));
    await inLine(20);
    child.kill("SIGTERM");
    await eventually(() => refuses(url));
    await shop.engine.queues.pause("slow", false);
    const answers = await Promise.all(held);
    expect(answers.map(({ status }) => status)).to.deep.equal(new Array(20).fill(200));
    expect(await ended).to.equal(0);
  });

  it("tells clients that keep a connection to come back on another one", async () => {
    const { url, child, ended } = await start({ ROLE: "all" });
    await shop.engine.queues.pause("slow", true);
    const agent = new http.Agent({ keepAlive: true });
    const request = http.request(new URL("/v1/queues/slow/requests", url), {
      method: "POST",
      agent,
      headers: { "Content-Type": "application/json" },
    });
    request.end(JSON.stringify({ journal, ms: 1 }));
    const answered = once(request, "response") as Promise<[http.IncomingMessage]>;
    await inLine(1);
    child.kill("SIGTERM");
    await eventually(() => refuses(url));
    await shop.engine.queues.pause("slow", false);
    const [answer] = await answered;
    expect([answer.statusCode, answer.headers.connection]).to.deep.equal([200, "close"]);
    answer.resume();
    expect(await ended).to.equal(0);
    agent.destroy();
  });

  it("does not cut off a client that sends one request after the other on a kept connection", async () => {
    const { url, child, ended } = await start({ ROLE: "api" });
    const connected = new Set<string>();
    const callUntilClosed = async (caller: string) => {
      const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
      for (;;) {
        const request = http.get(new URL("/v1/queues", url), { agent });
        const [answer] = (await once(request, "response")) as [http.IncomingMessage];
        answer.resume();
        await once(answer, "end");
        if (answer.headers.connection === "close") return agent.destroy();
        connected.add(caller);
      }
    };
    const callers = ids(64).map(callUntilClosed);
    // The system resets connections that the process has not accepted when the listener is closed.
    await eventually(() => connected.size === callers.length);
    child.kill("SIGTERM");
    await Promise.all(callers);
    expect(await ended).to.equal(0);
  });

  it("refuses new connections at once, and answers those that it had not accepted yet", async () => {
    const { url, child, ended } = await start({ ROLE: "api", DRAIN_TIMEOUT: "20s" });
    // The system has completed these connections by itself, and resets those that are left when the listener is closed.
    child.kill("SIGSTOP");
    const calls = ids(8).map(() => exchange(new URL("/v1/queues", url)));
    await eventually(() => backlogOf(url) === calls.length);
    child.kill("SIGTERM");
    child.kill("SIGCONT");
    const answers = (await Promise.all(calls)).map(({ status, headers }) => `${status} ${headers.connection}`);
    const isRefused = await refuses(url);
    expect(new Set(answers)).to.deep.equal(new Set(["200 close"]));
    expect(isRefused).to.equal(true);
    expect(await ended).to.equal(0);
  });

  it("answers with the current state after DRAIN_TIMEOUT", async () => {
    const { url, child, ended } = await start({ ROLE: "api", DRAIN_TIMEOUT: "500ms" });
    const held = [submit(url, "result"), submit(url, "place", { Prefer: "wait=600" })];
    await inLine(2);
    const monitor = new URL("/v1/requests/result/status", url);
    const { headers } = await exchange(monitor);
    held.push(exchange(monitor, { headers: { "If-None-Match": String(headers.etag), Prefer: "wait=600" } }));
    held.push(exchange(new URL("?onPending=synchronous", monitor)));
    held.push(exchange(new URL("/v1/queues/pill/leases", url), { method: "POST", body: {} }));
    await allHeld(url);
    child.kill("SIGTERM");
    expect((await Promise.all(held)).map(({ status }) => status)).to.deep.equal([504, 202, 304, 404, 204]);
    expect(await ended).to.equal(0);
    expect(await shop.look("result")).to.include({ state: "waiting", index: 0 });
  });

  it("ends at once on a second signal", async () => {
    const { url, child, ended } = await start({ ROLE: "all" });
    await shop.engine.queues.pause("slow", true);
    const held = submit(url, "cut-off").catch((error: Error) => error.message);
    await inLine(1);
    child.kill("SIGTERM");
    await eventually(() => refuses(url));
    child.kill("SIGTERM");
    expect(await ended).to.equal(130);
    expect(await held).to.match(/closed|hang up|reset/);
  });
});
