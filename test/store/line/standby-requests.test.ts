import { expect } from "chai";
import { Cluster, type Redis } from "ioredis";
import { createLog } from "../../../src/log.ts";
import { connect } from "../../../src/store/connection.ts";
import { reserveOn } from "../../../src/store/library/scripts.ts";
import { openStandby, type Standby } from "../../../src/store/line/standby.ts";
import { openEngine, type TestEngine } from "../../helpers/engine.ts";
import { recordingLog } from "../../helpers/recording-log.ts";
import { onCluster, storeUrl } from "../../helpers/store/run-store.ts";
import { eventually } from "../../shared/eventually.ts";

const LONG_MS = 60_000;

describe("requests that wait in the store", () => {
  let t: TestEngine;
  const opened: { readonly standby: Standby; readonly own: Redis; readonly id: number }[] = [];
  beforeEach(async function () {
    if (onCluster()) this.skip();
    t = await openEngine();
  });
  afterEach(async () => {
    for (const { standby, own } of opened.splice(0)) {
      standby.close();
      own.disconnect();
    }
    await t?.close();
  });

  const parts = (own: Redis) => ({
    ...{ commands: t.redis, keys: t.keys, log: createLog("silent") },
    connect: () => Promise.resolve(own),
    reserveOn: (redis: Parameters<typeof reserveOn>[0]) => reserveOn(redis),
  });
  const connected = async () => (await connect(storeUrl(), "standby", createLog("silent"))) as Redis;
  const open = async (others: Partial<ReturnType<typeof parts>> = {}) => {
    const own = await connected();
    const standby = await openStandby("jobs", { ...parts(own), ...others });
    if (!standby) throw new Error("requests cannot wait");
    opened.push({ standby, own, id: await own.client("ID") });
    return { standby, own };
  };
  let requests = 0;
  const request = () => {
    requests += 1;
    const of = { queue: "jobs", worker: `w${requests}`, reservation: `s${requests}`, count: 1, leaseMs: 60_000 };
    return { ...of, rate: undefined };
  };
  const ids = async (asked: ReturnType<Standby["reserve"]>) => (await asked).tasks.map(({ id }) => id);
  const whenWaiting = (connections = 1) =>
    eventually(async () => {
      const clients = String(await (t.redis as Redis).client("LIST")).split("\n");
      const waits = ({ id }: { readonly id: number }) =>
        clients.some((client) => client.startsWith(`id=${id} `) && client.includes(" flags=b"));
      return opened.filter(waits).length === connections;
    });

  it("get the task that is submitted next", async () => {
    const { standby } = await open();
    expect([standby.usable, standby.waiting]).to.deep.equal([true, false]);
    const asked = standby.reserve(request(), LONG_MS);
    expect(standby.waiting).to.equal(true);
    await whenWaiting();
    await t.submit({ id: "a" });
    expect(await ids(asked)).to.deep.equal(["a"]);
    expect([standby.usable, standby.waiting]).to.deep.equal([true, false]);
  });

  it("do not wait where they are not to", async () => {
    const { standby } = await open();
    const asked = standby.reserve(request(), 0);
    expect(standby.waiting).to.equal(false);
    expect(await ids(asked)).to.deep.equal([]);
  });

  it("run at once when they are cut, however soon and often that is", async () => {
    const { standby } = await open();
    await standby.cut();
    const asked = standby.reserve(request(), LONG_MS);
    // The first may arrive before the request.
    await Promise.all([standby.cut(), standby.cut()]);
    expect(await ids(asked)).to.deep.equal([]);
    await eventually(() => !standby.waiting);
    const again = standby.reserve(request(), LONG_MS);
    await standby.cut();
    expect(await ids(again)).to.deep.equal([]);
  });

  it("leave the rest to another one that waits, also where the worker of the first stands still", async () => {
    const asked = [];
    for (let n = 0; n < 3; n += 1) {
      asked.push((await open()).standby.reserve(request(), LONG_MS));
      await whenWaiting(n + 1);
    }
    // In one call.
    await Promise.all([t.submit({ id: "a" }), t.submit({ id: "b" }), t.submit({ id: "c" })]);
    expect((await Promise.all(asked.map(ids))).flat().toSorted()).to.deep.equal(["a", "b", "c"]);
  });

  it("do not wait any longer after the store has refused it", async () => {
    const { standby } = await open();
    await t.redis.set(t.key("wake"), "of another type");
    await ids(standby.reserve(request(), LONG_MS));
    await eventually(() => !standby.usable);
    expect(standby.waiting).to.equal(false);
  });

  it("can wait again on a connection that was lost, under its new number, which is ended when it is given up", async () => {
    const redis = t.redis as Redis;
    const ended: number[] = [];
    const commands = Object.assign(Object.create(redis), {
      client: (...words: ["KILL", "ID", number]) => {
        if (words[0] === "KILL") ended.push(words[2]);
        return redis.client(...words);
      },
    }) as Redis;
    const { standby, own } = await open({ commands });
    const id = await own.client("ID");
    await redis.client("KILL", "ID", id);
    await eventually(() => !standby.usable);
    await eventually(() => standby.usable);
    const asked = standby.reserve(request(), LONG_MS);
    await standby.cut();
    expect(await ids(asked)).to.deep.equal([]);
    const next = await own.client("ID");
    expect(next).to.not.equal(id);
    await standby.abandon();
    expect(ended).to.deep.equal([next]);
  });

  it("end when they are closed, and are not tried again", async () => {
    const { log, messages } = recordingLog();
    const { standby, own } = await open({ log });
    const asked = standby.reserve(request(), LONG_MS).catch((error: Error & { code?: string }) => error.code);
    await whenWaiting();
    standby.close();
    expect(await asked).to.equal("store-unavailable");
    await eventually(() => own.status === "end");
    await standby.abandon();
    expect(messages).to.deep.equal([]);
  });

  it("are ended with their connection when it is given up", async () => {
    const { standby, own } = await open();
    const asked = standby.reserve(request(), LONG_MS).catch((error: Error & { code?: string }) => error.code);
    await whenWaiting();
    await standby.abandon();
    expect(await asked).to.equal("store-unavailable");
    await eventually(() => own.status === "end");
    expect(standby.usable).to.equal(false);
    expect(await t.redis.exists(t.key("wake"))).to.equal(0);
    await standby.abandon();
    await standby.cut();
  });

  it("do not wait on a cluster, nor without a connection, nor where their wait could not be ended", async () => {
    const own = await connected();
    const cluster = new Cluster([{ host: "127.0.0.1", port: 7001 }], { lazyConnect: true });
    expect(await openStandby("jobs", { ...parts(own), commands: cluster })).to.equal(undefined);
    expect(await openStandby("jobs", { ...parts(own), connect: () => Promise.reject(new Error("no")) })).to.equal(
      undefined,
    );
    const refusing = Object.assign(Object.create(t.redis), { client: () => Promise.reject(new Error("NOPERM")) });
    expect(await openStandby("jobs", { ...parts(own), commands: refusing as Redis })).to.equal(undefined);
    await eventually(() => own.status === "end");
  });
});
