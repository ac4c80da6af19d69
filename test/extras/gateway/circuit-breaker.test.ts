import { expect } from "chai";
import { endProcesses, type ServerProcess, startProcess } from "../../helpers/server-process.ts";
import { endLeases } from "../../helpers/store/end-leases.ts";
import { uniquePrefix } from "../../helpers/store/run-store.ts";
import { eventually } from "../../shared/eventually.ts";
import { reservePort } from "../../shared/ports.ts";
import { type GatewayServer, type RawUpstream, startGateways, startUpstream } from "./gateway.ts";

const DOWN = "HTTP/1.1 503 Down\r\nContent-Length: 4\r\n\r\ndown";
const BEGAN = "the API behind the gateway is down; its circuit breaker is open";
const ENDED = "the API behind the gateway is up again; its circuit breaker is closed";

describe("a gateway whose API is down", function () {
  this.timeout(60_000);
  let port: number;
  let upstream: RawUpstream | undefined;
  let servers: GatewayServer[] = [];
  const processes: ServerProcess[] = [];
  const declare = (options = "") =>
    `export const shop = defineGateway({ queue: "shop", target: "http://127.0.0.1:${port}", attempts: 3, ${options} });`;
  const start = async (options: string, env: Readonly<Record<string, string>> = {}) => {
    const server = await startGateways(declare(options), env);
    servers.push(server);
    return server;
  };
  beforeEach(async () => {
    port = await reservePort();
  });
  afterEach(async () => {
    for (const [n, server] of servers.entries()) await server.stop({ keep: n < servers.length - 1 });
    servers = [];
    await upstream?.close();
    upstream = undefined;
  });

  const send = async (server: GatewayServer, method: string, path: string) => {
    const headers = { Prefer: "respond-async", "X-Request-Id": path.slice(1) };
    const body = method === "POST" ? { body: "x" } : {};
    const answer = await server.send(`/v1/gateway/shop${path}`, { method, headers, ...body });
    expect(answer.status).to.equal(202);
  };
  const queue = async (server: GatewayServer) => (await server.send("/v1/queues/shop")).json;
  const gauge = async (server: GatewayServer) =>
    /^paihao_queue_resting\{queue="shop"\} (\d)$/m.exec((await server.send("/metrics")).text)?.[1];
  const resting = (server: GatewayServer) => eventually(async () => (await queue(server)).resting ?? false, 20_000);
  const said = (message: string) => servers.flatMap(({ log }) => log).filter(({ msg }) => msg === message);
  const names = (count: number, name = "t") => Array.from({ length: count }, (_, n) => `${name}${n}`);

  it("opens, says so, keeps its tasks in their places, and resumes when the API is back", async () => {
    const server = await start("concurrency: 2");
    expect((await queue(server)).resting).to.equal(null);
    expect(await gauge(server)).to.equal("0");
    const ids = names(8);
    for (const id of ids) await send(server, "GET", `/${id}`);
    const open = await resting(server);
    expect(open.reason).to.equal("ECONNREFUSED");
    expect(Date.parse(open.nextProbe)).to.be.above(Date.parse(open.since));
    expect(await gauge(server)).to.equal("1");
    expect((await queue(server)).paused).to.equal(false);
    // Those that failed before it opened come back to their places after their backoff.
    const inLine = async () => {
      const { items } = (await server.send("/v1/queues/shop/waiting")).json;
      return items.map(({ id }: { id: string }) => id);
    };
    await eventually(async () => (await inLine()).join() === ids.join(), 20_000);
    // While a probe is underway, the others stand one place nearer.
    const last = async () => (await server.send("/v1/requests/t7/status")).json;
    await eventually(async () => (await last()).index === 7, 20_000);
    expect(await last()).to.include({ eta: null });

    upstream = await startUpstream(port);
    for (const id of ids) {
      const done = await server.until(id, "succeeded");
      expect(done.json.attempt, id).to.be.at.most(3);
      expect(upstream.to(`/${id}`), id).to.have.length(1);
    }
    expect((await queue(server)).resting).to.equal(null);
    expect(await gauge(server)).to.equal("0");
    expect([said(BEGAN).length, said(ENDED).length]).to.deep.equal([1, 1]);
  });

  it("uses up no attempts while it is open: its probes do not count", async () => {
    upstream = await startUpstream(port);
    const ids = names(5);
    // It opens after five failures; with two probes more, the first task has failed as often as it has attempts.
    for (const id of ids) upstream.answer(`/${id}`, ...Array.from({ length: id === "t0" ? 3 : 1 }, () => DOWN));
    const server = await start("concurrency: 1");
    for (const id of ids) await send(server, "GET", `/${id}`);
    const { reason } = await resting(server);
    expect(reason).to.equal("status 503");
    for (const id of ids) {
      const done = await server.until(id, "succeeded");
      expect(done.json.attempt).to.be.at.most(2);
      expect((await server.send(`/v1/requests/${id}`)).status).to.equal(200);
    }
    expect(upstream.to("/t0")).to.have.length(4);
  });

  it("sends a POST that was never sent when the API is back, once; one that the API has refused is not sent again", async () => {
    const server = await start("concurrency: 1");
    for (const id of names(5)) await send(server, "GET", `/${id}`);
    await resting(server);
    await send(server, "POST", "/post");
    upstream = await startUpstream(port);
    upstream.answer("/refused", DOWN);
    await server.until("post", "succeeded");
    expect(upstream.to("/post")).to.have.length(1);
    await send(server, "POST", "/refused");
    await server.until("refused", "succeeded");
    expect((await server.send("/v1/requests/refused")).status).to.equal(503);
    expect(upstream.to("/refused")).to.have.length(1);
  });

  it("keeps a POST as the probe in its place while no connection can be made", async () => {
    const server = await start("concurrency: 1, attempts: 1");
    for (const id of names(5)) await send(server, "POST", `/${id}`);
    await send(server, "POST", "/post");
    const { nextProbe } = await resting(server);
    await eventually(async () => (await queue(server)).resting.nextProbe > nextProbe, 20_000);
    expect((await server.send("/v1/requests/post/status")).json).to.include({ attempt: 0 });
    upstream = await startUpstream(port);
    await server.until("post", "succeeded");
    expect(upstream.to("/post")).to.have.length(1);
  });

  it("sends another probe when the worker of the first one was killed", async () => {
    upstream = await startUpstream(port);
    const never = () => undefined;
    for (const id of names(5)) upstream.answer(`/${id}`, DOWN, ...(id === "t0" ? [never] : []));
    const api = await start("concurrency: 1", { ROLE: "api" });
    const env = { HANDLERS: api.handlers, KEY_PREFIX: api.prefix, PORT: "0", ROLE: "worker" };
    try {
      processes.push(await startProcess(env));
      for (const id of names(5)) await send(api, "GET", `/${id}`);
      await upstream.came("/t0", 2);
      expect((await queue(api)).resting.reason).to.equal("status 503");
      await endProcesses(processes);
      await endLeases(api.prefix, "shop");
      processes.push(await startProcess(env));
      for (const id of names(5)) await api.until(id, "succeeded");
      expect((await queue(api)).resting).to.equal(null);
      expect(upstream.to("/t0")).to.have.length(3);
    } finally {
      await endProcesses(processes);
    }
  });

  it("is open over all servers and partitions, with one probe at a time", async () => {
    upstream = await startUpstream(port);
    const env = { KEY_PREFIX: uniquePrefix(), PARTITIONS: "3" };
    const all = [await start("concurrency: 4", env), await start("concurrency: 4", env)];
    const [first] = all;
    if (!first) throw new Error("no server");
    const ids = names(30);
    for (const id of ids) upstream.answer(`/${id}`, DOWN);
    for (const id of ids) await send(first, "GET", `/${id}`);
    await resting(first);
    // As many as were underway at once may have failed beside the five.
    const before = upstream.requests.length;
    expect(before).to.be.below(5 + 2 * 8);
    for (const id of ids) upstream.answer(`/${id}`, ...Array.from({ length: 3 }, () => DOWN));
    const { nextProbe } = await resting(first);
    await eventually(async () => (await queue(first)).resting.nextProbe > nextProbe, 20_000);
    expect(upstream.requests.length - before).to.be.at.most(4);
    await upstream.close();
    upstream = await startUpstream(port);
    for (const id of ids) await first.until(id, "succeeded");
    expect(said(BEGAN).length).to.equal(said(ENDED).length);
  });
});
