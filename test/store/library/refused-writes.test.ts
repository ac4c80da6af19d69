import { expect } from "chai";
import { Redis } from "ioredis";
import { verify } from "../../../src/engine/upkeep/verify.ts";
import { PARTS } from "../../../src/extras/extras.ts";
import { assemble } from "../../../src/store/library/assemble.ts";
import { CORE } from "../../../src/store/library/core.ts";
import { libraryWith, listed } from "../../../src/store/library/library.ts";
import { openEngine, type TestEngine } from "../../helpers/engine.ts";
import { storeKind } from "../../helpers/store/run-store.ts";
import { keepFromSaving } from "../../helpers/store/unsaved.ts";
import { eventually } from "../../shared/eventually.ts";
import { type PrivateRedis, startRedis } from "../../shared/redis-server.ts";

const OURS = libraryWith({ sharded: false, strictResultTtl: false, parts: PARTS });

/** By what a server may do with them: the flags that they are registered with. */
function verbsWith(flag: string | undefined): string[] {
  const registered = assemble([CORE, ...PARTS]).matchAll(/^register\('(\w+)', \{(?: '([\w-]+)' )?\}/gm);
  return [...registered].flatMap(([, verb = "", of]) => (of === flag ? [verb] : []));
}

describe("the functions of the library on a server that takes no writes", function () {
  this.timeout(60_000);
  let redis: PrivateRedis;
  let admin: Redis;
  let t: TestEngine;
  before(async function () {
    if (storeKind() === "embedded") this.skip();
    redis = await startRedis();
    admin = new Redis(redis.url);
    t = await openEngine({ url: redis.url });
    await t.submit({ id: "there" });
  });
  after(async () => {
    await t?.close();
    admin?.disconnect();
    await redis?.stop("SIGKILL");
  });

  /** The code of the error with which a server refuses a function as a whole; "" if it runs, be it into an error of its own. */
  const refusal = async (name: string, by = admin) => {
    const said = await by.fcall(name, 1, "{none:0}").then(
      () => "",
      (error: Error) => error.message,
    );
    return /^(OOM|READONLY|MISCONF|NOREPLICAS)/.exec(said)?.[0] ?? "";
  };
  const refusals = async (verbs: readonly string[], by = admin) =>
    new Set(await Promise.all(verbs.map((verb) => refusal(OURS.functionsOf(verb).name, by))));
  const reading = async (by = admin) =>
    new Set(await Promise.all(writing.map((verb) => refusal(OURS.functionsOf(verb).reading ?? "", by))));
  const [reads, drains, writing] = [verbsWith("no-writes"), verbsWith("allow-oom"), verbsWith(undefined)];

  it("are refused at the memory limit only if they need room", async () => {
    await admin.config("SET", "maxmemory", "1");
    try {
      expect(await refusals([...reads, ...drains])).to.deep.equal(new Set([""]));
      expect(await refusals(writing)).to.deep.equal(new Set(["OOM"]));
      expect(await reading()).to.deep.equal(new Set([""]));
    } finally {
      await admin.config("SET", "maxmemory", "0");
    }
  });

  it("are refused by a replica, without a disk and with too few replicas unless they only read", async () => {
    const all = async (code: string, by: Redis) => {
      expect(await refusals([...drains, ...writing], by), code).to.deep.equal(new Set([code]));
      expect(await refusals(reads, by), code).to.deep.equal(new Set([""]));
      expect(await reading(by), code).to.deep.equal(new Set([""]));
    };
    const replica = await startRedis({ args: ["--replicaof", "127.0.0.1", String(redis.port)] });
    const second = new Redis(replica.url);
    try {
      await eventually(async () => (await listed(second)).includes(OURS.name));
      await all("READONLY", second);
    } finally {
      second.disconnect();
      await replica.stop("SIGKILL");
    }
    await admin.config("SET", "min-replicas-to-write", "1");
    await all("NOREPLICAS", admin);
    await admin.config("SET", "min-replicas-to-write", "0");
    const heal = await keepFromSaving(admin, redis.dir);
    await all("MISCONF", admin);
    await heal();
  });

  it("still answer a repeated submission and a verification", async () => {
    await admin.config("SET", "maxmemory", "1");
    try {
      expect((await t.submit({ id: "there" })).verdict).to.equal("replay");
      expect(await t.submit({ id: "new" }).catch((error: unknown) => error)).to.include({ code: "store-full" });
      expect(await verify(t.redis, t.scripts, t.keys, { heal: false })).to.include({ tasks: 1 });
    } finally {
      await admin.config("SET", "maxmemory", "0");
    }
    await admin.config("SET", "min-replicas-to-write", "1");
    try {
      expect((await t.submit({ id: "there" })).verdict).to.equal("replay");
      expect(await t.submit({ id: "new" }).catch((error: unknown) => error)).to.include({ code: "store-unavailable" });
      expect(await verify(t.redis, t.scripts, t.keys, { heal: false })).to.include({ tasks: 1 });
    } finally {
      await admin.config("SET", "min-replicas-to-write", "0");
    }
  });
});
