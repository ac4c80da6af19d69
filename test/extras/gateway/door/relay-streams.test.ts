import { once } from "node:events";
import http, { type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { PassThrough } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "chai";
import { ReadAhead } from "../../../../src/extras/gateway/door/relay-body.ts";
import { type Relay, startApi, startRelay, Wire } from "./relaying.ts";

const MIB = 1024 ** 2;
const SIZE = 300 * MIB;
const CHUNK = Buffer.alloc(MIB, "x");

describe("a relay's streams", function () {
  this.timeout(60_000);
  const closing: { close(): Promise<void> }[] = [];
  let api: Server;
  let relay: Relay;
  /** How much the API has received. */
  let received = 0;
  /** How much memory the process took at most while it was watched, above what it took before, bytes. */
  const memoryOf = async (work: () => Promise<void>): Promise<number> => {
    const before = process.memoryUsage().rss;
    let most = before;
    const timer = setInterval(() => {
      most = Math.max(most, process.memoryUsage().rss);
    }, 20);
    await work();
    clearInterval(timer);
    return most - before;
  };
  beforeEach(async () => {
    received = 0;
    api = http.createServer((request, response) => {
      request.on("data", (chunk: Buffer) => {
        received += chunk.length;
      });
      if (request.url === "/slow") {
        // Reads nothing until it is told to.
        request.pause();
        api.once("read", () => request.resume());
      }
      if (request.url !== "/large") {
        request.on("end", () => response.end("ok"));
        return;
      }
      response.writeHead(200, { "Content-Length": SIZE });
      let left = SIZE;
      const send = () => {
        while (left > 0) {
          left -= MIB;
          if (!response.write(CHUNK)) return;
        }
        response.end();
      };
      response.on("drain", send);
      send();
    });
    api.listen(0, "127.0.0.1");
    await once(api, "listening");
    relay = await startRelay(`http://127.0.0.1:${(api.address() as AddressInfo).port}`);
  });
  afterEach(async () => {
    for (const one of closing.splice(0).reverse()) await one.close();
    await relay.close();
    api.closeAllConnections();
    api.close();
  });
  const call = (path: string, method = "GET"): http.ClientRequest =>
    http.request({ port: relay.port, host: "127.0.0.1", path, method, agent: false });

  it("hold little of a large answer, however slowly its caller reads", async () => {
    const request = call("/large").end();
    const [answer] = (await once(request, "response")) as [IncomingMessage];
    // Nothing is read for a while.
    const stalled = await memoryOf(() => sleep(1000));
    expect(stalled).to.be.below(50 * MIB);
    let length = 0;
    const memory = await memoryOf(async () => {
      for await (const chunk of answer) length += (chunk as Buffer).length;
    });
    expect(length).to.equal(SIZE);
    expect(memory).to.be.below(100 * MIB);
    expect(await relay.ended()).to.deep.equal({ how: "whole", status: 200 });
  });

  it("hold little of a large request, however slowly the API reads", async () => {
    const request = call("/slow", "POST");
    let sent = 0;
    const memory = await memoryOf(async () => {
      while (sent < SIZE) {
        sent += MIB;
        if (request.write(CHUNK)) continue;
        // What the kernel and the relay hold is full when nothing moves for a while.
        if (sent < 100 * MIB && !(await Promise.race([once(request, "drain"), sleep(300, false)]))) api.emit("read");
        if (request.writableNeedDrain) await once(request, "drain");
      }
      request.end();
      await once(request, "response");
    });
    expect(received).to.equal(SIZE);
    expect(memory).to.be.below(100 * MIB);
    expect(await relay.ended()).to.deep.equal({ how: "whole", status: 200 });
  });

  it("hear a hang-up also while the API takes nothing of a body", async () => {
    const stuck = await startApi((socket) => void socket.pause());
    const blocked = await startRelay(stuck.url);
    closing.push(stuck, blocked);
    const caller = new Wire(blocked.port);
    caller.write("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99000000\r\n\r\n");
    caller.socket.write(Buffer.alloc(512 * 1024));
    await sleep(100);
    caller.socket.resetAndDestroy();
    expect(await blocked.ended()).to.deep.equal({ how: "left" });
  });

  it("leave nothing behind", async () => {
    const quiet = await startApi((socket) => {
      socket.once("data", () => socket.write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe"));
    });
    const half = await startRelay(quiet.url);
    closing.push(quiet, half);
    const kinds = () => process.getActiveResourcesInfo().sort().join();
    const before = kinds();
    for (let i = 0; i < 200; i += 1) {
      const caller = new Wire(half.port).write("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nhello");
      await caller.until("he");
      if (i % 2 === 0) caller.socket.destroy();
      else half.abort();
      await half.ended(i + 1);
      caller.socket.destroy();
    }
    for (const socket of quiet.sockets) socket.destroy();
    // The ends of the last connections are on their way.
    const deadline = performance.now() + 2000;
    while (kinds() !== before && performance.now() < deadline) await sleep(10);
    expect(kinds()).to.equal(before);
    expect(await half.connections()).to.equal(0);
  });
});

describe("what is read of callers who wait", () => {
  it("is bounded for all of them together, and passed on whole", async () => {
    const all = { bytes: 0, most: 100 };
    const sources = [new PassThrough(), new PassThrough(), new PassThrough()] as const;
    const bodies = sources.map((source) => new ReadAhead(source, 80, all));
    const paused = async (source: PassThrough) => {
      if (!source.isPaused()) await once(source, "pause");
    };
    for (const source of sources) {
      source.write(Buffer.alloc(60, "a"));
      if (source !== sources[0]) await paused(source);
    }
    expect(all.bytes, "each is read once before it is paused").to.equal(180);
    expect(await bodies[1]?.whole(80), "more of it may come").to.equal(undefined);
    bodies[2]?.stop();
    expect(all.bytes).to.equal(120);
    for (const n of [0, 1] as const) {
      const to = new PassThrough();
      const chunks: Buffer[] = [];
      to.on("data", (chunk: Buffer) => chunks.push(chunk));
      bodies[n]?.pipe(to);
      sources[n].end(Buffer.alloc(1000, "b"));
      await once(to, "end");
      expect(Buffer.concat(chunks).toString()).to.equal("a".repeat(60) + "b".repeat(1000));
    }
    expect(all.bytes).to.equal(0);
  });
});
