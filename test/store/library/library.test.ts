import { expect } from "chai";
import { Redis } from "ioredis";
import { readConfig } from "../../../src/config/config.ts";
import { openEngine as openStore } from "../../../src/engine/upkeep/boot.ts";
import { PARTS } from "../../../src/extras/extras.ts";
import { createLog } from "../../../src/log.ts";
import { libraryWith, listed } from "../../../src/store/library/library.ts";
import { scriptsOf } from "../../../src/store/library/scripts.ts";
import { openEngine, resultOf, type TestEngine } from "../../helpers/engine.ts";
import { storeKind } from "../../helpers/store/run-store.ts";
import { eventually } from "../../shared/eventually.ts";
import { type PrivateRedis, startRedis } from "../../shared/redis-server.ts";

const OURS = libraryWith({ sharded: false, strictResultTtl: false, parts: PARTS });
const STRICT = libraryWith({ sharded: false, strictResultTtl: true, parts: PARTS });
const OLDER = "paihao_0123abcd";

describe("the library in the store", function () {
  this.timeout(60_000);
  let redis: PrivateRedis;
  let admin: Redis;
  const engines: TestEngine[] = [];
  before(async function () {
    if (storeKind() === "embedded") this.skip();
    redis = await startRedis({ args: ["--appendonly", "no"] });
    admin = new Redis(redis.url, { retryStrategy: () => 50 });
    admin.on("error", () => undefined);
  });
  beforeEach(() => admin.function("FLUSH"));
  afterEach(async () => {
    await admin.config("SET", "maxmemory", "0");
    for (const engine of engines.splice(0)) await engine.close();
  });
  after(async () => {
    admin?.disconnect();
    await redis?.stop("SIGKILL");
  });

  const open = async () => {
    const engine = await openEngine({ url: redis.url });
    engines.push(engine);
    return engine;
  };
  /** How often a library was sent since the last look. */
  const loads = async () => {
    const [, calls = "0"] = /cmdstat_function\|load:calls=(\d+)/.exec(await admin.info("commandstats")) ?? [];
    await admin.config("RESETSTAT");
    return Number(calls);
  };
  const start = async (env: Readonly<Record<string, string>> = {}) => {
    const opened = await openStore(
      readConfig({ REDIS_URL: redis.url, ...env }),
      redis.url,
      [],
      createLog("silent"),
      PARTS,
    );
    opened.close();
  };
  const withOlder = (name: string) =>
    admin.function("LOAD", `#!lua name=${name}\nredis.register_function('of_${name}', function() return 1 end)`);

  it("has names of libraries and functions that differ with its text", () => {
    for (const library of [OURS, STRICT]) {
      const [, digest = ""] = /^paihao_([0-9a-f]{8})$/.exec(library.name) ?? [];
      expect(library.functionsOf("reserve")).to.deep.equal({ name: `reserve_${digest}` });
      expect(library.functionsOf("submit")).to.deep.equal({ name: `submit_${digest}`, reading: `submit_ro_${digest}` });
    }
    expect(OURS.name).to.not.equal(STRICT.name);
  });

  it("is loaded once for all calls of a connection that miss it", async () => {
    const { submit } = await open();
    await submit();
    await admin.function("FLUSH");
    await loads();
    const verdicts = await Promise.all(
      Array.from({ length: 250 }, async (_, n) => {
        // In many calls.
        for (let turns = 0; turns < n % 5; turns += 1) await Promise.resolve();
        return (await submit()).verdict;
      }),
    );
    expect(new Set(verdicts)).to.deep.equal(new Set(["new"]));
    expect(await loads()).to.equal(1);
  });

  it("is used from the fastest process, if several load it at once", async () => {
    const many = await Promise.all(Array.from({ length: 4 }, open));
    await admin.function("FLUSH");
    const verdicts = await Promise.all(many.map(async ({ submit }) => (await submit()).verdict));
    expect(verdicts).to.deep.equal(["new", "new", "new", "new"]);
    expect(await listed(admin)).to.deep.equal([OURS.name]);
  });

  it("is loaded again by a server that has lost everything in a restart", async () => {
    const { submit } = await open();
    await submit();
    await redis.restart();
    // The connection comes back by itself.
    await eventually(async () => (await submit()).verdict === "new");
    expect(await listed(admin)).to.deep.equal([OURS.name]);
  });

  it("stays with the data of a server that is started again with its append-only file", async () => {
    const own = await startRedis({ args: ["--appendonly", "yes", "--appendfsync", "always"] });
    try {
      const writer = await openEngine({ url: own.url });
      await writer.submit();
      await writer.close();
      await own.restart();
      const reader = new Redis(own.url);
      expect(await listed(reader)).to.deep.equal([OURS.name]);
      reader.disconnect();
    } finally {
      await own.stop("SIGKILL");
    }
  });

  it("is loaded into a replica that was promoted without it", async () => {
    const replica = await startRedis({
      args: ["--replicaof", "127.0.0.1", String(redis.port), "--repl-diskless-sync-delay", "0"],
    });
    const heir = new Redis(replica.url);
    try {
      const { submit } = await open();
      await submit();
      await admin.wait(1, 10_000);
      await heir.call("REPLICAOF", "NO", "ONE");
      // As one that lost the last writes of its master.
      await heir.function("FLUSH");
      const promoted = await openEngine({ url: replica.url });
      expect((await promoted.submit()).verdict).to.equal("new");
      expect(await listed(heir)).to.deep.equal([OURS.name]);
      await promoted.close();
    } finally {
      heir.disconnect();
      await replica.stop("SIGKILL");
    }
  });

  it("is loaded by a start, which keeps that of the release before, and removes older ones and nothing of others", async () => {
    const KEY_PREFIX = "releases";
    for (const name of [OLDER, "paihao_another"]) await withOlder(name);
    const { keys, redis: connection } = await openEngine({ url: redis.url, prefix: KEY_PREFIX });
    const releases = scriptsOf(connection, { parts: PARTS });
    await releases.libraries(keys.tag(0), { name: OLDER });
    await start({ KEY_PREFIX });
    const names = async () => ((await admin.function("LIST")) as unknown[][]).map((row) => row[1]);
    expect(await names()).to.have.members([OURS.name, OLDER, "paihao_another"]);
    await start({ KEY_PREFIX, STRICT_RESULT_TTL: "true" });
    expect(await names()).to.have.members([OURS.name, STRICT.name, "paihao_another"]);
    await start({ KEY_PREFIX, STRICT_RESULT_TTL: "true" });
    expect(await names()).to.have.members([OURS.name, STRICT.name, "paihao_another"]);
    connection.disconnect();
  });

  it("is waited for by a start on a full server, which says what makes room", async () => {
    await admin.config("SET", "maxmemory", "1");
    await admin.config("RESETSTAT");
    const told: string[] = [];
    const log = createLog("warn", { destination: { write: (line) => told.push(line) } });
    const opening = openStore(readConfig({ REDIS_URL: redis.url }), redis.url, [], log, PARTS);
    // For longer than a start waits for anything else.
    const refused = async () =>
      Number(/cmdstat_function\|load:.*rejected_calls=(\d+)/.exec(await admin.info("commandstats"))?.[1] ?? 0);
    await Promise.race([opening, eventually(async () => (await refused()) > 25)]);
    expect(told.filter((line) => /lacks the functions.*CONFIG SET maxmemory/.test(line))).to.have.lengthOf(1);
    await admin.config("SET", "maxmemory", "0");
    (await opening).close();
    expect(await listed(admin)).to.deep.equal([OURS.name]);
  });

  it("fails no call while processes with another one start again and again", async () => {
    const { submit, reserve, engine, settings } = await open();
    let starting = true;
    const starts = (async () => {
      let removed = 0;
      for (; starting; removed += 1) {
        await start({ STRICT_RESULT_TTL: "true", KEY_PREFIX: "another" });
        await start({ KEY_PREFIX: "another" });
      }
      return removed;
    })();
    try {
      for (let done = 0; done < 300; ) {
        await Promise.all(Array.from({ length: 10 }, () => submit()));
        const taken = await reserve(10);
        const ends = taken.map(({ id, fence }) =>
          engine.leases.complete({ queue: "jobs", id, fence }, resultOf("done"), settings),
        );
        expect(new Set(await Promise.all(ends))).to.deep.equal(new Set(["done"]));
        done += taken.length;
      }
    } finally {
      starting = false;
    }
    expect(await starts).to.be.above(0);
  });

  it("cannot be loaded into a full server, which the error says, but as soon as there is room", async () => {
    const { submit } = await open();
    await admin.config("SET", "maxmemory", "1");
    const refused = await submit().catch((error: unknown) => error);
    expect(refused).to.include({ code: "store-full" });
    await admin.config("SET", "maxmemory", "0");
    expect((await submit()).verdict).to.equal("new");
    // From then on processes start also while it is full.
    await admin.config("SET", "maxmemory", "1");
    await start();
  });
});
