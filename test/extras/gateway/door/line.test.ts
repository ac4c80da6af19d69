import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { expect } from "chai";
import type { GatewayOptions } from "../../../../src/extras/gateway/gateway.ts";
import { eventually } from "../../../shared/eventually.ts";
import { Api, openDoor, QUEUE, type TestDoor } from "./door.ts";
import { Wire } from "./relaying.ts";

describe("the line at a door", () => {
  let api: Api;
  let door: TestDoor;
  const open = async (options: Partial<GatewayOptions> = {}, env: Readonly<Record<string, string>> = {}) => {
    door = await openDoor(api.url, options, env);
    return door;
  };

  beforeEach(async () => {
    api = await Api.start();
  });
  afterEach(async () => {
    await door?.stop();
    await api.stop();
  });
  /** One who is served, and another who waits. */
  const two = async (options: Partial<GatewayOptions> = {}, env: Readonly<Record<string, string>> = {}) => {
    await open(options, env);
    const first = door.call("/hold/1");
    const served = await api.next();
    const second = door.call("/hold/2");
    await door.until(1, 1);
    return { first, served, second };
  };

  it("passes any method and path on, with a turn of its own for each, one at a time", async () => {
    await open();
    for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"]) {
      const { status, headers, text } = await door.send("/any/path?q=1", {
        method,
        headers: { "X-Request-Id": "same" },
      });
      const { line, headers: sent } = await api.next();
      expect([status, text, line]).to.deep.equal([200, method === "HEAD" ? "" : "ok", `${method} /any/path?q=1`]);
      expect(headers["x-request-id"]).to.equal(sent["x-request-id"]).and.not.equal("same");
      expect(headers["x-queue-waited"]).to.match(/^\d+\.\d$/);
      const { json } = await door.server.until(String(headers["x-request-id"]), "succeeded");
      expect(json.label).to.equal(`${method} /any/path`);
    }
    await door.expectFree();
  });

  it("calls the next one when the one before has been answered, in the order of arrival", async () => {
    const { first, served, second } = await two();
    const third = door.call("/hold/3");
    await door.until(1, 2);
    served.response.end("1");
    expect((await first.answer).text).to.equal("1");
    const next = await api.next();
    expect(next.line).to.equal("GET /hold/2");
    next.response.end("2");
    expect((await second.answer).text).to.equal("2");
    (await api.next()).response.end("3");
    expect((await third.answer).text).to.equal("3");
    await door.expectFree();
  });

  it("merges no two requests, whatever they say: neither the same X-Request-Id nor the same Idempotency-Key", async () => {
    await open({ slots: 2 });
    const headers = { "X-Request-Id": "one", "Idempotency-Key": "key" };
    const callers = [1, 2].map(() => door.call("/hold", { method: "POST", headers, body: "same" }));
    const [a, b] = [await api.next(), await api.next()];
    expect([a.headers["idempotency-key"], b.headers["idempotency-key"]]).to.deep.equal(["key", "key"]);
    a.response.end();
    b.response.end();
    const ids = (await Promise.all(callers.map(({ answer }) => answer))).map(({ headers: h }) => h["x-request-id"]);
    expect(new Set(ids).size).to.equal(2);
    await door.expectFree();
  });

  it("lets both ways in stand in one line, in order, with the same slots", async () => {
    const { first, served, second } = await two();
    const stored = await door.send("/hold/3", { method: "POST", headers: { Prefer: "respond-async" }, body: "x" });
    expect(stored.status).to.equal(202);
    expect(stored.headers.location).to.equal(`${door.server.url}/v1/requests/${stored.headers["x-request-id"]}`);
    const fourth = door.call("/hold/4");
    await door.until(1, 3);
    served.response.end();
    for (const line of ["GET /hold/2", "POST /hold/3", "GET /hold/4"]) {
      const asked = await api.next();
      expect(asked.line).to.equal(line);
      expect((await door.line()).running).to.equal(1);
      asked.response.end(line);
    }
    expect((await Promise.all([first.answer, second.answer, fourth.answer])).map(({ status }) => status)).to.deep.equal(
      [200, 200, 200],
    );
    const { pathname } = new URL(stored.headers.location ?? "");
    expect((await door.server.send(pathname, { contract: false })).text).to.equal("POST /hold/3");
    await door.expectFree();
  });

  it("shares slots, which change while it is open, and waits while its queue is paused", async () => {
    const { first, served, second } = await two();
    const patch = { method: "PATCH", body: { concurrency: 2 } };
    expect((await door.server.send(`/v1/queues/${QUEUE}`, patch)).status).to.equal(200);
    const next = await api.next();
    await door.until(2, 0);
    expect((await door.server.send(`/v1/queues/${QUEUE}/pause`, { method: "POST" })).status).to.equal(200);
    served.response.end();
    next.response.end();
    await Promise.all([first.answer, second.answer]);
    const third = door.call("/hold/3");
    await door.until(0, 1);
    expect((await door.server.send(`/v1/queues/${QUEUE}/resume`, { method: "POST" })).status).to.equal(200);
    (await api.next()).response.end();
    expect((await third.answer).status).to.equal(200);
    await door.expectFree();
  });

  it("is fair, keyed and limited by the method, path, headers and JSON body of a request", async () => {
    type Seen = { path: string; body?: { user?: string } };
    const by = (request: unknown) => (request as Seen).body?.user ?? null;
    await open({ slots: 3, keyed: { by }, label: (request) => `for ${(request as Seen).body?.user}` });
    const body = (user: string, more = 0) => JSON.stringify({ user, more: "x".repeat(more) });
    const headers = { "Content-Type": "application/json" };
    const ask = (user: string, more = 0) =>
      door.call("/hold", {
        method: "POST",
        headers: { ...headers, "Content-Length": String(body(user, more).length) },
        body: body(user, more),
      });
    const a = ask("a");
    const first = await api.next();
    const again = ask("a");
    await door.until(1, 1);
    const b = ask("b");
    const second = await api.next();
    const long = ask("a", 70_000);
    const third = await api.next();
    // A body from 64 KiB on is not looked at.
    await door.until(3, 1);
    const { json } = await door.server.send(`/v1/queues/${QUEUE}/waiting`);
    expect(json.items.map((item: { label: string }) => item.label)).to.deep.equal(["for a"]);
    for (const asked of [first, second, third]) {
      asked.request.resume();
      asked.response.end();
    }
    const last = await api.next();
    last.response.end();
    await Promise.all([a, again, b, long].map(({ answer }) => answer));
    await door.expectFree();
  });

  it("shares the line out among those whom its function tells apart", async () => {
    await open({
      fair: { by: (request) => String((request as { headers: Record<string, string> }).headers["x-user"]) },
    });
    const ask = (user: string, n: number) => door.call(`/hold/${user}${n}`, { headers: { "X-User": user } });
    const callers = [ask("a", 0)];
    const asked = [await api.next()];
    for (const [user, n] of [
      ["a", 1],
      ["a", 2],
      ["a", 3],
      ["b", 1],
      ["b", 2],
    ] as const) {
      callers.push(ask(user, n));
      await door.until(1, callers.length - 1);
    }
    for (let n = 0; n < callers.length; n += 1) {
      asked[n]?.response.end();
      if (n + 1 < callers.length) asked.push(await api.next());
    }
    const order = asked.map(({ line }) => line.slice(-2)).join(" ");
    expect(order).to.match(/^a0 (?:a1 )?b1 a\d b2 a\d/);
    await Promise.all(callers.map(({ answer }) => answer));
    await door.expectFree();
  });

  it("refuses those above the limit of their caller, and above the rate they wait", async () => {
    await open({ limit: { waiting: 1, by: () => "all" }, rate: { max: 1, per: "1s" } });
    await door.send("/1");
    const second = door.call("/2");
    await door.until(0, 1);
    const refused = await door.send("/3");
    expect([refused.status, refused.json.code ?? refused.json.type]).to.deep.equal([429, "/problems/too-many-tasks"]);
    expect(Number(refused.headers["retry-after"])).to.be.greaterThan(0);
    expect((await second.answer).status).to.equal(200);
    await door.until(0, 0);
  });

  it("refuses a wait that is estimated to be too long at once, and one that is at that time", async () => {
    const { first, served, second } = await two({ maxWait: "700ms" });
    const late = await second.answer;
    expect([late.status, late.json.type]).to.deep.equal([503, "/problems/line-too-long"]);
    expect(Number(late.headers["retry-after"])).to.be.greaterThan(0);
    await delay(500);
    served.response.end();
    expect(Number((await first.answer).headers["x-queue-waited"])).to.be.lessThan(0.5);
    // The only service time so far is longer than the longest wait.
    const next = door.call("/hold/3");
    const asked = await api.next();
    const begun = performance.now();
    const refused = await door.send("/hold/4");
    expect([refused.status, refused.json.type]).to.deep.equal([503, "/problems/line-too-long"]);
    expect(performance.now() - begun).to.be.lessThan(600);
    asked.response.end();
    await next.answer;
    await door.expectFree();
  });

  it("answers 504 when the head of an answer takes longer than its timeout, and tells not to repeat it", async () => {
    await open({ timeout: "300ms" });
    const late = await door.send("/hold");
    expect([late.status, late.json.type, late.json.mayHaveBeenCarriedOut]).to.deep.equal([
      504,
      "/problems/answer-timeout",
      true,
    ]);
    expect(late.headers["x-should-retry"]).to.equal("false");
    expect(await (await api.next()).end).to.equal("aborted");
    const slow = door.call("/hold");
    const asked = await api.next();
    asked.response.write("begun");
    await delay(500);
    asked.response.end();
    expect((await slow.answer).text).to.equal("begun");
    await door.expectFree();
  });

  it("ends a turn that lasts longer than any may, or that somebody ends", async () => {
    const { first, served, second } = await two({ longest: "1s" });
    expect(await served.end).to.equal("aborted");
    const over = await first.answer;
    expect([over.status, over.json.type, over.headers["x-should-retry"]]).to.deep.equal([
      503,
      "/problems/turn-over",
      "false",
    ]);
    const next = await api.next();
    const { json } = await door.server.send(`/v1/queues/${QUEUE}/running`);
    const begun = performance.now();
    const ended = await door.server.send(`/v1/requests/${json.items[0].id}`, { method: "DELETE" });
    expect(ended.status).to.equal(200);
    expect(await next.end).to.equal("aborted");
    expect(performance.now() - begun).to.be.lessThan(1000);
    expect((await second.answer).json.type).to.equal("/problems/turn-over");
    await door.expectFree();
  });

  it("tells one whose place somebody has taken away", async () => {
    const { first, served, second } = await two();
    const { json } = await door.server.send(`/v1/queues/${QUEUE}/waiting`);
    await door.server.send(`/v1/requests/${json.items[0].id}`, { method: "DELETE" });
    const { status, json: problem, headers } = await second.answer;
    expect([status, problem.type, headers["x-should-retry"]]).to.deep.equal([503, "/problems/turn-over", undefined]);
    served.response.end();
    await first.answer;
    expect(api.asked.length).to.equal(1);
    await door.expectFree();
  });

  it("passes a long body on whole that came while its caller waited", async () => {
    const { first, served, second } = await two();
    const body = randomBytes(5_000_000);
    const upload = door.call("/hold/upload", {
      method: "PUT",
      headers: { "Content-Length": String(body.length) },
      body,
    });
    await door.until(1, 2);
    served.response.end();
    (await api.next()).response.end();
    const { request, response } = await api.next();
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    expect(Buffer.concat(chunks).equals(body)).to.equal(true);
    response.end();
    await Promise.all([first.answer, second.answer, upload.answer]);
    await door.expectFree();
  });

  it("refuses what comes on an open connection once its server stops", async () => {
    await open({}, { DRAIN_TIMEOUT: "5s" });
    const wire = new Wire(door.port);
    const send = () => wire.write("GET /any HTTP/1.1\r\nHost: localhost\r\n\r\n");
    send();
    await wire.until("ok");
    const first = door.call("/hold");
    const served = await api.came("GET /hold");
    const stopped = door.stop();
    send();
    const text = await wire.until("/problems/stopping");
    expect(text)
      .to.include("HTTP/1.1 503 ")
      .and.match(/\r\nRetry-After: 1\r\n/i);
    wire.socket.destroy();
    served.response.end("served");
    expect((await first.answer).text).to.equal("served");
    await stopped;
    expect(api.asked.length).to.equal(2);
  });

  it("holds a turn for a WebSocket as long as it lasts", async () => {
    await open();
    api.onUpgrade((_, socket) => {
      socket.write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n");
      socket.pipe(socket);
    });
    const wire = new Wire(door.port);
    const upgrade = "GET /ws HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
    wire.write(upgrade);
    await wire.until("\r\n\r\n");
    expect(wire.text).to.match(/^HTTP\/1\.1 101 /);
    wire.write("hello");
    await wire.until("hello");
    const waits = door.call("/after");
    await door.until(1, 1);
    wire.socket.destroy();
    expect((await waits.answer).text).to.equal("ok");
    const second = new Wire(door.port).write(upgrade);
    await second.until("\r\n\r\n");
    const { json } = await door.server.send(`/v1/queues/${QUEUE}/running`);
    await door.server.send(`/v1/requests/${json.items[0].id}`, { method: "DELETE" });
    await Promise.race([once(second.socket, "end"), second.closed]);
    second.socket.destroy();
    await eventually(
      () => door.server.log.filter(({ msg }) => msg === "request").some(({ status }) => status === 101),
      5000,
    );
    expect(door.server.log.filter(({ level }) => level === "error")).to.deep.equal([]);
    await door.expectFree();
  });
});
