import { once } from "node:events";
import { access, mkdir, mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "chai";
import { Redis } from "ioredis";
import { parseRedisUrl } from "../../../src/config/redis-url.ts";
import { createLog } from "../../../src/log.ts";
import { isRunning } from "../../../src/store/servers/native/data-lock.ts";
import { startNativeStore } from "../../../src/store/servers/native/native.ts";
import { findServerBinary, type ServerBinary } from "../../../src/store/servers/native/server-binary.ts";
import type { ChildStore } from "../../../src/store/servers/respawner.ts";
import { groupOf, processGone, startStoreOwner } from "../../helpers/process.ts";
import { recordingLog } from "../../helpers/recording-log.ts";
import { expectStartError } from "../../helpers/start-error.ts";
import { eventually } from "../../shared/eventually.ts";
import { withIntruder } from "./intruder.ts";

const silent = createLog("silent");

const expectGone = async (file: string) =>
  expect(await access(file).catch((error: NodeJS.ErrnoException) => error.code)).to.equal("ENOENT");

/** The highest process id on Linux, practically never in use. */
const deadPid = 2 ** 22 - 1;

describe("the native store", () => {
  let binary: ServerBinary;
  let dir: string;
  const stores: ChildStore[] = [];
  const clients: Redis[] = [];

  const start = async (log = silent, dataDir = dir) => {
    const store = await startNativeStore({ binary, dataDir, log });
    stores.push(store);
    return store;
  };
  const connect = (url: string) => {
    const redis = new Redis(url, { maxRetriesPerRequest: null, retryStrategy: () => 20 });
    redis.on("error", () => {});
    clients.push(redis);
    return redis;
  };
  const pidOf = async (redis: Redis) => Number(/^process_id:(\d+)/m.exec(await redis.info("server"))?.[1]);
  const socketOf = (url: string) => {
    const address = parseRedisUrl(url);
    return address.kind === "socket" ? address.path : "";
  };
  const setting = async (redis: Redis, name: string) => ((await redis.config("GET", name)) as string[])[1];

  before(async function () {
    const { binary: installed } = await findServerBinary(silent);
    if (installed === undefined) return this.skip();
    binary = installed;
  });

  beforeEach(async () => {
    dir = await mkdtemp(path.join(tmpdir(), "paihao-native-"));
  });

  afterEach(async () => {
    for (const client of clients.splice(0)) client.disconnect();
    for (const store of stores.splice(0)) await store.stop();
    await rm(dir, { recursive: true, force: true });
  });

  it("writes an append-only file, evicts nothing and listens on no port", async () => {
    const store = await start();
    const redis = connect(store.url);
    expect(await setting(redis, "appendonly")).to.equal("yes");
    expect(await setting(redis, "appendfsync")).to.equal("everysec");
    expect(await setting(redis, "maxmemory-policy")).to.equal("noeviction");
    expect(await setting(redis, "save")).to.equal("");
    expect(await setting(redis, "port")).to.equal("0");
    expect(store.description).to.match(
      /^store: native (redis|valkey)-server \d+\.\d+\.\d+ on \/.+\/store, data in .+ \(append-only file\)$/,
    );
    expect(store.description).to.contain(dir);
  });

  it("can be reached by its owner only, and nobody else takes its place while it is down", async function () {
    const { log, messages } = recordingLog();
    const store = await start(log);
    const socket = socketOf(store.url);
    expect((await stat(path.dirname(socket))).mode & 0o777).to.equal(0o700);
    expect((await stat(socket)).mode & 0o777).to.equal(0o700);
    // Only root can be somebody else.
    if (process.getuid?.() !== 0) return this.skip();
    const achieved = await withIntruder(store.url, async () => {
      process.kill(await pidOf(connect(store.url)), "SIGKILL");
      await eventually(() => messages.includes("the store is running again"));
    });
    expect(achieved).to.deep.equal([]);
  });

  it("makes its files unreadable for other users", async () => {
    const mode = async (name: string) => ((await stat(path.join(dir, name))).mode & 0o777).toString(8);
    const made = path.join(dir, "made");
    await start(silent, made);
    expect(await mode("made")).to.equal("700");
    expect(await mode("made/appendonlydir")).to.equal("700");
    expect(await mode("made/store.log")).to.equal("600");
    for (const file of await readdir(path.join(made, "appendonlydir"))) {
      expect(await mode(`made/appendonlydir/${file}`), file).to.equal("600");
    }
  });

  it("keeps its data across a restart, in a directory with spaces and umlauts", async () => {
    const odd = path.join(dir, "a b", "Tür 排号");
    const first = await start(silent, odd);
    await connect(first.url).set("kept", "yes");
    await first.stop();
    expect(await readdir(odd)).to.have.members(["appendonlydir", "store.log"]);
    const second = await start(silent, odd);
    expect(await connect(second.url).get("kept")).to.equal("yes");
  });

  it("ends at stop, which can be called twice", async () => {
    const store = await start();
    const pid = await pidOf(connect(store.url));
    await Promise.all([store.stop(), store.stop()]);
    expect(isRunning(pid)).to.equal(false);
    await expectGone(path.dirname(socketOf(store.url)));
    await store.stop();
  });

  it("is restarted on the same socket with its data after kill -9", async () => {
    const { log, messages } = recordingLog();
    const store = await start(log);
    const redis = connect(store.url);
    await redis.set("kept", "yes");
    await redis.config("SET", "appendfsync", "always");
    await redis.set("synced", "yes");
    const before = await pidOf(redis);
    process.kill(before, "SIGKILL");
    await processGone(before);
    expect(await redis.mget("kept", "synced")).to.deep.equal(["yes", "yes"]);
    expect(await pidOf(redis)).not.to.equal(before);
    expect(messages[0]).to.match(/^the store ended unexpectedly \(ended by signal 9\); restarting it/);
    await eventually(() => messages.includes("the store is running again"));
  });

  it("is restarted if its wrapper is killed, too", async () => {
    const store = await start();
    const redis = connect(store.url);
    await redis.set("kept", "yes");
    const before = await pidOf(redis);
    const wrapper = (await readdir(dir)).map((file) => /^lock-store-(\d+)/.exec(file)?.[1]).find(Boolean);
    process.kill(Number(wrapper), "SIGKILL");
    await processGone(before);
    expect(await redis.get("kept")).to.equal("yes");
  });

  it("is not restarted if stop is called while it is starting again", async () => {
    const { log, messages } = recordingLog();
    const store = await start(log);
    const before = await pidOf(connect(store.url));
    process.kill(before, "SIGKILL");
    await eventually(() => messages.length > 0);
    await store.stop();
    expect(await readdir(dir)).to.have.members(["appendonlydir", "store.log"]);
  });

  it("ends when its parent is killed with SIGKILL, after writing everything", async () => {
    const { owner, url } = await startStoreOwner("native", dir);
    const redis = connect(url);
    const pid = await pidOf(redis);
    await redis.set("kept", "yes");
    redis.disconnect();
    owner.kill("SIGKILL");
    await processGone(pid);
    await eventually(() => expectGone(path.dirname(socketOf(url))));
    const next = await start();
    expect(await connect(next.url).get("kept")).to.equal("yes");
  });

  it("is not affected by Ctrl-C in the terminal", async function () {
    if (process.platform !== "linux") this.skip();
    const store = await start();
    const pid = await pidOf(connect(store.url));
    expect(groupOf(pid)).not.to.equal(groupOf(process.pid));
  });

  describe("whose directory is in use", () => {
    it("cannot be started again in the same process", async () => {
      await start();
      await expectStartError(start(), `${dir} is in use by process ${process.pid}`);
    });

    it("cannot be started by another process; the error names the first", async () => {
      const { owner, url } = await startStoreOwner("native", dir);
      try {
        await expectStartError(start(), `${dir} is in use by process ${owner.pid}`);
        expect(await connect(url).ping()).to.equal("PONG");
      } finally {
        owner.kill("SIGKILL");
        await once(owner, "exit");
      }
    });

    it("can be started if that process is dead", async () => {
      await writeFile(path.join(dir, `lock-owner-${deadPid}-0`), "");
      const store = await start();
      expect(await connect(store.url).ping()).to.equal("PONG");
      expect(await readdir(dir)).not.to.include(`lock-owner-${deadPid}-0`);
    });

    it("can be started if that process is dead and its id is used by another", async function () {
      if (process.platform !== "linux") this.skip();
      const reused = `lock-owner-${process.ppid}-00000000.1`;
      await writeFile(path.join(dir, reused), "");
      await start();
      expect(await readdir(dir)).not.to.include(reused);
    });

    it("is started by exactly one of many processes that try at once after a crash", async function () {
      this.timeout(60_000);
      await writeFile(path.join(dir, `lock-owner-${deadPid}-0`), "");
      const tries = await Promise.allSettled(Array.from({ length: 4 }, () => startStoreOwner("native", dir)));
      const winners = tries.filter((one) => one.status === "fulfilled");
      expect(winners.length).to.equal(1);
      for (const { value } of winners) {
        value.owner.kill("SIGKILL");
        await once(value.owner, "exit");
      }
    });
  });

  it("reports what the server printed if it does not start", async () => {
    await mkdir(path.join(dir, "appendonlydir"));
    await writeFile(path.join(dir, "appendonlydir", "appendonly.aof.manifest"), "no manifest\n");
    await expectStartError(start(), /could not be started: the server ended at once; its last log lines:\n.*manifest/s);
    expect(await readdir(dir)).to.have.members(["appendonlydir", "store.log"]);
  });

  it("reports that a directory cannot be used", async () => {
    const file = path.join(dir, "a file");
    await writeFile(file, "");
    await expectStartError(start(silent, file), `the data directory ${file} cannot be used`);
  });
});
