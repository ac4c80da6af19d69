import { setTimeout as delay } from "node:timers/promises";
import { expect } from "chai";
import { storeTarget, storeUrlAt } from "../../../helpers/store/run-store.ts";
import { startTcpProxy } from "../../../helpers/tcp-proxy.ts";
import { Api, type Caller, openDoor, type TestDoor } from "./door.ts";
import { Wire } from "./relaying.ts";

const MIB = 1024 ** 2;

describe("a door when something fails", () => {
  let api: Api;
  let door: TestDoor;
  beforeEach(async () => {
    api = await Api.start();
    door = await openDoor(api.url);
  });
  afterEach(async () => {
    await door.stop();
    await api.stop();
  });
  const within = async <T>(ms: number, what: Promise<T>): Promise<T> => {
    const late = delay(ms).then(() => Promise.reject(new Error(`not within ${ms} ms`)));
    return await Promise.race([what, late]);
  };

  it("calls the next one within a second when a caller has gone, waiting, or being served", async () => {
    const first = door.call("/hold/1");
    const served = await api.next();
    const second = door.call("/hold/2");
    await door.until(1, 1);
    const third = door.call("/hold/3");
    await door.until(1, 2);
    second.hangUp();
    await door.until(1, 1);
    first.hangUp();
    expect(await within(1000, served.end)).to.equal("aborted");
    const next = await within(1000, api.next());
    expect(next.line).to.equal("GET /hold/3");
    // In the middle of its answer.
    next.response.write("begun");
    await third.head;
    const fourth = door.call("/hold/4");
    await door.until(1, 1);
    third.hangUp();
    expect(await within(1000, next.end)).to.equal("aborted");
    const last = await within(1000, api.next());
    // By a half-close, too.
    const wire = new Wire(door.port).write("GET /hold/5 HTTP/1.1\r\nHost: localhost\r\n\r\n");
    await door.until(1, 1);
    wire.socket.end();
    await door.until(1, 0);
    last.response.end();
    await fourth.answer;
    await door.expectFree();
  });

  it("loses no slot when callers hang up as they are called", async () => {
    for (let n = 0; n < 40; n += 1) {
      const first = door.call("/hold/first");
      const served = await api.next();
      const second = door.call("/second");
      await door.until(1, 1);
      served.response.end();
      // From before the turn of the second is called until it has been answered.
      if (n % 4 > 0) await first.answer;
      await delay(n % 10);
      second.hangUp();
      await first.answer;
      await door.until(0, 0);
      while (api.asked.at(-1)?.line !== "GET /hold/first") api.asked.pop();
    }
    await door.expectFree();
  });

  it("loses no slot when a thousand callers hang up at once", async () => {
    const warnings: Error[] = [];
    const note = (warning: Error) => warnings.push(warning);
    process.on("warning", note);
    const first = door.call("/hold");
    const served = await api.next();
    const callers: Caller[] = [];
    // As many as the system lets wait for a server to accept them.
    while (callers.length < 1000) {
      for (let n = 0; n < 250; n += 1) callers.push(door.call("/any"));
      await door.until(1, callers.length);
    }
    for (const { hangUp } of callers) hangUp();
    await door.until(1, 0);
    served.response.end();
    await first.answer;
    expect(api.asked.length).to.equal(1);
    await door.expectFree();
    process.off("warning", note);
    expect(warnings).to.deep.equal([]);
  });

  it("tells whether a request may have been carried out when the API dies, and never ends a broken answer cleanly", async () => {
    const early = door.call("/hold");
    (await api.next()).request.destroy();
    const { status, json, headers } = await early.answer;
    expect([status, json.type, json.mayHaveBeenCarriedOut, headers["x-should-retry"]]).to.deep.equal([
      502,
      "/problems/no-answer",
      true,
      "false",
    ]);
    for (const sized of [true, false]) {
      const caller = door.call("/hold");
      const { response } = await api.next();
      response.writeHead(200, sized ? { "Content-Length": "100" } : {}).write("some");
      await caller.head;
      response.destroy();
      const error = await caller.answer.catch((reason: NodeJS.ErrnoException) => reason.code);
      expect(error).to.equal("ECONNRESET");
    }
    await door.expectFree();
  });

  it("frees the slot of an answer that is whole before the request's body is", async () => {
    const wire = new Wire(door.port).write(
      "POST /hold HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\nsome",
    );
    const { response } = await api.next();
    response.writeHead(413, { Connection: "close" }).end("too large");
    expect(await wire.until("too large")).to.match(/^HTTP\/1\.1 413 /);
    await door.expectFree();
    wire.socket.destroy();
  });

  it("takes no more of an endless answer than its caller reads", async () => {
    const wire = new Wire(door.port).write("GET /hold HTTP/1.1\r\nHost: localhost\r\n\r\n");
    const { response, end } = await api.next();
    wire.socket.pause();
    const before = process.memoryUsage().rss;
    const chunk = Buffer.alloc(MIB / 4);
    let sent = 0;
    const send = () => {
      while (sent < 2048 * MIB && response.write(chunk)) sent += chunk.length;
    };
    response.on("drain", send);
    send();
    let seen = -1;
    for (; seen !== sent; await delay(300)) seen = sent;
    for (let n = 0; n < 20; n += 1) {
      wire.socket.read(1000);
      await delay(10);
    }
    expect(sent).to.be.lessThan(50 * MIB);
    expect(process.memoryUsage().rss - before).to.be.lessThan(100 * MIB);
    const next = door.call("/next");
    await door.until(1, 1);
    wire.socket.destroy();
    expect(await within(1000, end)).to.equal("aborted");
    expect((await next.answer).text).to.equal("ok");
    await door.expectFree();
  });

  it("refuses what comes while its queue is full, and nobody behind it", async () => {
    await door.stop();
    door = await openDoor(api.url, {}, { MAX_WAITING: "1" });
    const first = door.call("/hold");
    const served = await api.next();
    const second = door.call("/any");
    await door.until(1, 1);
    const refused = await door.send("/any");
    expect([refused.status, refused.json.type]).to.deep.equal([503, "/problems/queue-full"]);
    served.response.end();
    await first.answer;
    expect((await second.answer).text).to.equal("ok");
    await door.expectFree();
  });

  it("loses no slot when the store's answers about a turn are lost", async () => {
    const proxy = await startTcpProxy(storeTarget());
    await door.stop();
    door = await openDoor(api.url, {}, { REDIS_URL: storeUrlAt(proxy.port) });
    await door.send("/warm");
    // Of the submission: whether it is stored is unknown then.
    let lost = proxy.loseReply();
    const { status, text } = await door.send("/any");
    await lost;
    if (status !== 503) expect(text).to.equal("ok");
    await door.expectFree();
    const first = door.call("/hold");
    const served = await api.came("GET /hold");
    const second = door.call("/any");
    await door.until(1, 1);
    // Of the end, with which the next turn begins.
    lost = proxy.loseReply();
    served.response.end();
    await first.answer;
    await lost;
    expect((await second.answer).text).to.equal("ok");
    // Of the caller's leaving.
    const third = door.call("/hold/3");
    const left = await api.came("GET /hold/3");
    lost = proxy.loseReply();
    third.hangUp();
    await lost;
    expect(await left.end).to.equal("aborted");
    await door.expectFree();
    await door.stop();
    await proxy.stop();
    door = await openDoor(api.url);
  });
});
