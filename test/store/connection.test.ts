import { spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { expect } from "chai";
import { type Cluster, Redis } from "ioredis";
import { parseRedisUrl, type RedisAddress } from "../../src/config/redis-url.ts";
import { createLog } from "../../src/log.ts";
import { type Connection, connect, connectionTo, isCluster, sentinelOptions } from "../../src/store/connection.ts";
import { recordingLog } from "../helpers/recording-log.ts";
import { eventually } from "../shared/eventually.ts";
import { reservePort } from "../shared/ports.ts";
import { ROOT } from "../shared/root.ts";
import { type FakeRedis, startFakeRedis, startTcp } from "./servers/fake-redis.ts";

const INFO = { redis_version: "7.2.0", loading: "0" };
const silent = createLog("silent");

describe("a connection to the store", () => {
  let store: FakeRedis | undefined;
  let connection: Connection | undefined;
  afterEach(async () => {
    connection?.disconnect();
    await store?.stop();
    store = undefined;
  });

  const at = (port: number) => `redis://127.0.0.1:${port}`;

  it("does not keep a process alive once closed, even if the store is unreachable", async () => {
    store = await startFakeRedis(INFO);
    const script = fileURLToPath(new URL("./leaver.ts", import.meta.url));
    const leaver = spawn(process.execPath, ["--import", "tsx", script, at(store.port)], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    try {
      const left = once(leaver, "exit");
      const [said] = await Promise.race([once(leaver.stdout, "data"), left]);
      expect(String(said)).to.equal("connected\n");
      await store.stop();
      store = undefined;
      expect(await left).to.deep.equal([0, null]);
    } finally {
      leaver.kill("SIGKILL");
    }
  });

  it("says once that it is lost, refuses commands meanwhile, and says once that it is back", async () => {
    const { log, messages } = recordingLog();
    store = await startFakeRedis(INFO);
    const { port } = store;
    connection = await connect(at(port), "test", log);
    expect(messages).to.deep.equal([]);
    let closed = 0;
    let told: string[] = [];
    connection.on("close", () => {
      closed += 1;
      if (closed === 1) told = [...messages];
    });
    await store.stop();
    // It has been tried again, in vain.
    await eventually(() => closed > 1);
    const refused = await connection.ping().catch((error: Error) => error.message);
    expect(refused).to.match(/^Stream isn't writeable|^Connection is closed/);
    expect(told, "at once").to.deep.equal(["connection to the store lost; reconnecting"]);
    expect(messages).to.deep.equal(["connection to the store lost; reconnecting"]);
    store = await startFakeRedis(INFO, port);
    await eventually(() => messages.length > 1);
    expect(messages).to.deep.equal(["connection to the store lost; reconnecting", "connection to the store is back"]);
    connection.disconnect();
    await eventually(() => connection?.status === "end");
    expect(messages).to.have.lengthOf(2);
  });

  it("says which was lost and why, by its last error", async () => {
    const lines: { msg: string; reason: string; store: string }[] = [];
    const log = createLog("debug", { destination: { write: (line) => lines.push(JSON.parse(line)) } });
    store = await startFakeRedis(INFO);
    const { port } = store;
    connection = await connect(at(port), "test", log);
    connection.emit("error", new Error("read ECONNRESET"));
    await store.stop();
    store = undefined;
    await eventually(() => lines.length > 0);
    expect(lines.map(({ msg, reason, store }) => `${store}: ${msg}: ${reason}`)).to.deep.equal([
      `127.0.0.1:${port}: connection to the store lost; reconnecting: read ECONNRESET`,
    ]);
  });

  it("is not made if the first attempt fails", async () => {
    const refused = await connect(at(await reservePort()), "test", silent).catch((error: Error) => error.message);
    expect(refused).to.match(/ECONNREFUSED|Connection is closed/);
  });

  it("is opened anew if its server has become a replica, since the name may lead to the new master", async () => {
    let sets = 0;
    let opened = 0;
    store = await startTcp((words) => {
      if (words.includes("info")) {
        opened += 1;
        return "$9\r\nloading:0\r\n";
      }
      if (words[0] !== "set") return "+OK\r\n";
      sets += 1;
      return sets === 1 ? "-READONLY You can't write against a read only replica.\r\n" : "+OK\r\n";
    });
    connection = await connect(at(store.port), "test", silent);
    const refused = await connection.set("key", "value").catch((error: Error) => error.message);
    expect(refused).to.equal("READONLY You can't write against a read only replica.");
    expect(await eventually(async () => (await connection?.set("key", "value")) ?? false)).to.equal("OK");
    expect([sets, opened]).to.deep.equal([2, 2]);
  });

  it("stays open after any other error", async () => {
    let opened = 0;
    store = await startTcp((words) => {
      if (words.includes("info")) {
        opened += 1;
        return "$9\r\nloading:0\r\n";
      }
      return words[0] === "set" ? "-OOM command not allowed\r\n" : "+OK\r\n";
    });
    connection = await connect(at(store.port), "test", silent);
    const refused = await connection.set("key", "value").catch((error: Error) => error.message);
    expect(refused).to.equal("OOM command not allowed");
    expect(opened).to.equal(1);
  });
});

describe("a connection to a cluster", () => {
  const slots = (port: number) => `*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$9\r\n127.0.0.1\r\n:${port}\r\n`;
  const info = (text: string) => `$${text.length}\r\n${text}\r\n`;
  let store: FakeRedis | undefined;
  let connection: Connection | undefined;
  afterEach(async () => {
    connection?.disconnect();
    await store?.stop();
    store = undefined;
  });

  /** Opens one to a single node with all slots, although the cluster itself says that it is down. */
  const open = async (log = silent) => {
    const own = await startTcp(([verb = "", topic = ""]) => {
      if (verb === "cluster") return topic === "SLOTS" ? slots(own.port) : info("cluster_state:fail");
      if (verb === "info") return info("loading:0");
      return verb === "get" ? "$5\r\nvalue\r\n" : "+OK\r\n";
    });
    store = own;
    connection = await connect(`redis+cluster://127.0.0.1:${own.port}`, "test", log);
    return { cluster: connection as Cluster, stop: () => own.stop() };
  };

  it("serves what it can reach, although the cluster says that a part of it is down", async () => {
    const { cluster } = await open();
    expect(isCluster(cluster)).to.equal(true);
    expect(await cluster.get("key")).to.equal("value");
  });

  it("refuses commands at once while no node can be reached, instead of keeping them until they time out", async () => {
    const { cluster, stop } = await open();
    await cluster.get("key");
    store = undefined;
    await stop();
    const refused = await cluster.get("key").catch((error: Error) => error.message);
    expect(refused).to.match(/isn't ready|is closed/);
  });

  it("says once that a node cannot be reached, and once that it is back", async () => {
    const { log, messages } = recordingLog();
    const { cluster } = await open(log);
    const back = new Redis({ host: "127.0.0.1", port: 7001, lazyConnect: true });
    cluster.emit("+node", back);
    back.emit("ready");
    expect(messages).to.deep.equal([]);
    for (let n = 0; n < 2; n += 1) cluster.emit("node error", new Error("refused"), "127.0.0.1:7001");
    expect(messages).to.deep.equal(["a node of the store cannot be reached; retrying"]);
    for (let n = 0; n < 2; n += 1) back.emit("ready");
    expect(messages.slice(1)).to.deep.equal(["a node of the store is back"]);
  });
});

describe("the options of a connection", () => {
  const address = <Kind extends RedisAddress["kind"]>(_: Kind, url: string) =>
    parseRedisUrl(url) as Extract<RedisAddress, { kind: Kind }>;
  const ca = path.join(ROOT, "test/fixtures/tls/localhost.crt");

  it("have the host, login and database of an address, and its TLS files", () => {
    const plain = connectionTo(address("single", "redis://user:secret@store:7000/3"), { lazyConnect: true }).options;
    expect(plain).to.include({ host: "store", port: 7000, username: "user", password: "secret", db: 3 });
    expect(plain.tls).to.equal(undefined);
    const secure = connectionTo(address("single", `rediss://store:7000?ca=${ca}`), { lazyConnect: true }).options;
    expect(secure).to.include({ host: "store", port: 7000 });
    expect(secure.tls?.ca).to.match(/^-----BEGIN CERTIFICATE/);
    const socket = connectionTo(address("socket", "unix://user:secret@/run/redis?db=2"), { lazyConnect: true }).options;
    expect(socket).to.include({ path: "/run/redis", username: "user", password: "secret", db: 2 });
  });

  it("have the sentinels, with a login and TLS of their own", () => {
    const plain = sentinelOptions(address("sentinel", "redis+sentinel://one:1,two:2/main/4"));
    expect(plain).to.deep.include({
      ...{
        sentinels: [
          { host: "one", port: 1 },
          { host: "two", port: 2 },
        ],
        name: "main",
        db: 4,
      },
    });
    expect(plain).to.not.have.any.keys(
      "username",
      "password",
      "sentinelUsername",
      "sentinelPassword",
      "sentinelTLS",
      "tls",
    );
    const secured = `rediss+sentinel://user:secret@one:1/main?ca=${ca}&sentinel_username=watch&sentinel_password=hidden`;
    const options = sentinelOptions(address("sentinel", secured));
    expect(options).to.include({
      ...{ username: "user", password: "secret", sentinelUsername: "watch", sentinelPassword: "hidden" },
      enableTLSForSentinelMode: true,
    });
    expect(options.tls?.ca).to.match(/^-----BEGIN CERTIFICATE/);
    expect(options.sentinelTLS?.ca).to.equal(options.tls?.ca);
  });
});
