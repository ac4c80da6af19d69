import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import path from "node:path";
import { expect } from "chai";
import { Redis } from "ioredis";
import { createLog } from "../../../src/log.ts";
import { startEmbeddedStore } from "../../../src/store/servers/embedded/embedded.ts";
import type { ChildStore } from "../../../src/store/servers/respawner.ts";
import { refuses, startStoreOwner } from "../../helpers/process.ts";
import { recordingLog } from "../../helpers/recording-log.ts";
import { eventually } from "../../shared/eventually.ts";
import { withIntruder } from "./intruder.ts";

const connect = (url: string, clients: Redis[]) => {
  const redis = new Redis(url, { maxRetriesPerRequest: null, retryStrategy: () => 20 });
  redis.on("error", () => {});
  clients.push(redis);
  return redis;
};

describe("the embedded store", () => {
  let store: ChildStore;
  let redis: Redis;
  const clients: Redis[] = [];

  before(async () => {
    store = await startEmbeddedStore({ log: createLog("silent") });
    redis = connect(store.url, clients);
  });

  after(async () => {
    for (const client of clients.splice(0)) client.disconnect();
    await store.stop();
  });

  it("says that its data lives in memory only", () => {
    expect(store.description).to.match(
      /^store: embedded Valkey \d+\.\d+\.\d+ \(WebAssembly\) on \/.+\/store, data in memory only/,
    );
  });

  it("is limited to 512 MB and evicts nothing", async () => {
    const memory = await redis.info("memory");
    expect(memory).to.contain("maxmemory:536870912");
    expect(memory).to.contain("maxmemory_policy:noeviction");
  });

  it("keeps a megabyte of arbitrary bytes unchanged", async () => {
    const bytes = randomBytes(1024 ** 2);
    await redis.set("bytes", bytes);
    expect((await redis.getBuffer("bytes"))?.equals(bytes)).to.equal(true);
  });

  it("answers a pipeline of 5000 commands in order", async () => {
    const pipeline = redis.pipeline();
    for (let i = 0; i < 5000; i++) pipeline.incr("counter");
    const replies = await pipeline.exec();
    expect(replies?.map(([, value]) => value)).to.deep.equal(Array.from({ length: 5000 }, (_, i) => i + 1));
  });

  it("runs scripts by their hash, with cjson and cmsgpack", async () => {
    const script = `
      local packed = cmsgpack.pack(cjson.decode(ARGV[1]))
      redis.call("SET", KEYS[1], packed)
      return cjson.encode(cmsgpack.unpack(redis.call("GET", KEYS[1])))`;
    const sha = createHash("sha1").update(script).digest("hex");
    expect(await redis.script("LOAD", script)).to.equal(sha);
    const reply = await redis.evalsha(sha, 1, "packed", '{"a":[1,2.5,"ü"]}');
    expect(JSON.parse(String(reply))).to.deep.equal({ a: [1, 2.5, "ü"] });
  });

  it("reports an error in a script and continues", async () => {
    const failure = await redis.eval("return redis.call('INCR', KEYS[1], 'too', 'many')", 1, "k").catch(String);
    expect(failure).to.contain("Wrong number of args");
    expect(await redis.ping()).to.equal("PONG");
  });

  it("delivers messages in order, including large ones", async () => {
    const listener = connect(store.url, clients);
    const heard: string[] = [];
    listener.on("message", (_channel, message) => heard.push(message));
    await listener.subscribe("news");
    const sent = Array.from({ length: 200 }, (_, i) => `${i}:${"x".repeat(i * 100)}`);
    for (const message of sent) await redis.publish("news", message);
    await eventually(() => heard.length === sent.length);
    expect(heard).to.deep.equal(sent);
  });

  it("wakes a client that waits for an element", async () => {
    const waiting = connect(store.url, clients);
    await waiting.ping();
    const popped = waiting.blpop("list", 10);
    await redis.rpush("list", "element");
    expect(await popped).to.deep.equal(["list", "element"]);
  });

  it("serves 100 connections at once", async () => {
    const many = Array.from({ length: 100 }, () => connect(store.url, clients));
    await Promise.all(many.map((client) => Promise.all(Array.from({ length: 50 }, () => client.incr("together")))));
    expect(await redis.get("together")).to.equal("5000");
    for (const client of many) client.disconnect();
  });

  it("reuses descriptors, so it survives more connections in total than it can have at once", async function () {
    this.timeout(240_000);
    const room = Number(((await redis.config("GET", "maxclients")) as string[])[1]);
    for (let made = 0; made < room; made += 250) {
      const batch = Array.from(
        { length: 250 },
        () => new Redis(store.url, { lazyConnect: true, disableClientInfo: true }),
      );
      await Promise.all(batch.map((client) => client.connect()));
      for (const client of batch) client.disconnect();
    }
    expect(await connect(store.url, clients).ping()).to.equal("PONG");
  });

  it("sends a large last reply completely before it closes the connection", async () => {
    const client = connect(store.url, clients);
    const value = "v".repeat(8 * 1024 ** 2);
    await redis.set("large", value);
    const [got] = await Promise.all([client.get("large"), client.quit()]);
    expect(got).to.have.lengthOf(value.length);
  });
});

describe("an embedded store that is lost", () => {
  const clients: Redis[] = [];
  let store: ChildStore | undefined;
  const shutDown = (url: string) => {
    const fatal = new Redis(url, { retryStrategy: () => null });
    fatal.on("error", () => {});
    fatal.call("SHUTDOWN", "NOSAVE").catch(() => {});
  };

  afterEach(async () => {
    for (const client of clients.splice(0)) client.disconnect();
    await store?.stop();
    store = undefined;
  });

  it("is killed if a script blocks it, and is restarted empty on the same socket", async () => {
    const { log, messages } = recordingLog();
    store = await startEmbeddedStore({ log, frozenAfterMs: 1500 });
    const redis = connect(store.url, clients);
    await redis.set("lost", "yes");
    const fatal = new Redis(store.url, { retryStrategy: () => null });
    fatal.on("error", () => {});
    const answer = fatal.eval("while true do end", 0).catch((error: Error) => error);
    expect(await answer).to.be.instanceOf(Error);
    // The new store may answer before its respawner has seen it answer, which is when it says so.
    await eventually(() => messages.includes("the store is running again"));
    expect(await redis.get("lost")).to.equal(null);
    expect(messages[0]).to.contain("probably because of an endless script; killing it");
    expect(messages[1]).to.contain("all its data lived in memory and is lost");
    expect(messages).to.have.length(3);
    expect(await redis.info("memory")).to.contain("maxmemory:536870912");
  });

  it("is restarted if it is shut down", async () => {
    const { log, messages } = recordingLog();
    store = await startEmbeddedStore({ log });
    const redis = connect(store.url, clients);
    await redis.set("lost", "yes");
    shutDown(store.url);
    await eventually(() => messages.includes("the store is running again"));
    expect(await redis.get("lost")).to.equal(null);
  });

  it("is reached by no other user, who does not take its place while it is down either", async function () {
    // Only root can be somebody else.
    if (process.getuid?.() !== 0) return this.skip();
    const { log, messages } = recordingLog();
    store = await startEmbeddedStore({ log });
    const { url } = store;
    const achieved = await withIntruder(url, async () => {
      shutDown(url);
      await eventually(() => messages.includes("the store is running again"));
    });
    expect(achieved).to.deep.equal([]);
  });

  it("ends when its parent is killed with SIGKILL", async () => {
    const { owner, url } = await startStoreOwner("embedded", "");
    owner.kill("SIGKILL");
    await once(owner, "exit");
    await eventually(() => refuses(url));
    await eventually(() => !existsSync(path.dirname(new URL(url).pathname)));
  });

  it("ends with its parent even while an endless script runs", async () => {
    const { owner, url } = await startStoreOwner("embedded", "");
    const fatal = new Redis(url, { retryStrategy: () => null });
    fatal.on("error", () => {});
    await fatal.ping();
    const answer = fatal.eval("while true do end", 0).catch((error: Error) => error);
    owner.kill("SIGKILL");
    expect(await answer).to.be.instanceOf(Error);
    await eventually(() => refuses(url));
    await eventually(() => !existsSync(path.dirname(new URL(url).pathname)));
  });
});
