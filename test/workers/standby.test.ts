import { randomUUID } from "node:crypto";
import { mock } from "node:test";
import { expect } from "chai";
import { ProblemError } from "../../src/errors.ts";
import { defineHandler, type Handler } from "../../src/handler/define.ts";
import { connectOnce } from "../../src/store/servers/connect-once.ts";
import { deferred } from "../helpers/deferred.ts";
import { storeUrl, storeUrlAs } from "../helpers/store/run-store.ts";
import { openWorkshop, type Workshop } from "../helpers/workshop.ts";
import { eventually } from "../shared/eventually.ts";
import { type PrivateRedis, startRedis } from "../shared/redis-server.ts";

/** How often a lost connection is tried again, ms. */
const REOPEN_MS = 5000;

describe("an idle worker, whose request waits in the store", () => {
  let shop: Workshop;
  afterEach(() => shop.close());

  const jobs = (run: Handler["run"] = (input) => input, concurrency = 1) =>
    defineHandler({ queue: "jobs", concurrency, run });

  /** Waits until so many requests wait; returns how many calls of a command the store has counted. */
  const whenWaiting = async (count: number) => {
    const redis = await shop.redis();
    await eventually(async () => {
      const clients = String(await redis.client("LIST")).split("\n");
      return clients.filter((line) => / name=paihao-standby .* flags=b/.test(line)).length === count;
    });
    return redis;
  };

  /** The tasks that requests have brought which did not wait. */
  const askedFor = ({ engine }: Workshop) => {
    const ids: string[] = [];
    const reserve = engine.leases.reserve.bind(engine.leases);
    engine.leases.reserve = async (request) => {
      const reply = await reserve(request);
      ids.push(...reply.tasks.map(({ id }) => id));
      return reply;
    };
    return ids;
  };

  it("gets a task in the reply, and waits again", async () => {
    shop = await openWorkshop([jobs()]);
    const asked = askedFor(shop);
    await shop.worker();
    for (const input of ["first", "second"]) {
      await whenWaiting(1);
      expect(await shop.answer(await shop.submit(input))).to.equal(input);
    }
    expect(asked).to.deep.equal([]);
  });

  it("leaves tasks for which it has no slot to another worker", async () => {
    const both = deferred();
    const running: string[] = [];
    const handler = jobs(async (_, task) => {
      running.push(task.id);
      if (running.length === 2) both.resolve();
      await both.promise;
    });
    shop = await openWorkshop([handler]);
    await shop.worker();
    await shop.worker();
    await whenWaiting(2);
    const ids = await Promise.all([shop.submit(1), shop.submit(2)]);
    for (const id of ids) expect((await shop.ended(id)).state).to.equal("succeeded");
  });

  it("is notified of work that does not come from a submission", async () => {
    shop = await openWorkshop([jobs()]);
    await shop.worker();
    const redis = await whenWaiting(1);
    const cuts = async () => Number(/client\|unblock:calls=(\d+)/.exec(await redis.info("commandstats"))?.[1] ?? 0);
    const before = await cuts();
    const id = await shop.submit("later", { delayMs: 100 });
    expect(await shop.answer(id)).to.equal("later");
    expect(await cuts()).to.be.greaterThan(before);
  });

  it("gets the same task again if the reply is lost", async () => {
    const runs: string[] = [];
    shop = await openWorkshop([jobs((_, task) => void runs.push(task.id), 2)]);
    const open = shop.engine.leases.openStandby.bind(shop.engine.leases);
    let lost = 0;
    shop.engine.leases.openStandby = async (queue) => {
      const standby = await open(queue);
      if (!standby) return undefined;
      const reserve = standby.reserve.bind(standby);
      standby.reserve = async (request, waitMs) => {
        const reply = await reserve(request, waitMs);
        if (waitMs === 0 || reply.tasks.length === 0) return reply;
        lost += 1;
        throw new ProblemError("store-unavailable");
      };
      return standby;
    };
    await shop.worker();
    await whenWaiting(1);
    const id = await shop.submit(1);
    const ended = await shop.ended(id);
    expect([lost, runs, ended.attempts, ended.lost]).to.deep.equal([1, [id], 1, 0]);
  });

  it("ends its wait when it stops", async () => {
    shop = await openWorkshop([jobs()]);
    const worker = await shop.worker();
    await whenWaiting(1);
    await worker.stop();
    const id = await shop.submit(1);
    await whenWaiting(0);
    expect((await shop.look(id)).state).to.equal("waiting");
  });

  it("asks as soon as it is notified of work, if the user of the store may not end a wait", async () => {
    const [user, password] = [`user-${randomUUID()}`, randomUUID()];
    const admin = await connectOnce(storeUrl());
    await admin.call("ACL", "SETUSER", user, "on", `>${password}`, "~*", "&*", "+@all", "-client|unblock");
    try {
      shop = await openWorkshop([jobs()], { url: storeUrlAs(user, password) });
      const asked = askedFor(shop);
      await shop.worker();
      const id = await shop.submit("asked for");
      expect(await shop.answer(id)).to.equal("asked for");
      expect(asked).to.deep.equal([id]);
      await shop.close();
    } finally {
      await admin.call("ACL", "DELUSER", user);
      admin.disconnect();
    }
  });

  describe("and whose connection for that is lost", () => {
    let store: PrivateRedis;
    let admin: Awaited<ReturnType<typeof connectOnce>>;
    beforeEach(async () => {
      mock.timers.enable({ apis: ["setInterval"] });
      store = await startRedis();
      admin = await connectOnce(store.url);
    });
    afterEach(async () => {
      mock.timers.reset();
      await shop.close();
      admin.disconnect();
      await store.stop();
    });

    /** The clients that wait. */
    const waiting = async () =>
      String(await admin.client("LIST"))
        .split("\n")
        .filter((line) => / name=paihao-standby .* flags=b/.test(line))
        .map((line) => Number(/^id=(\d+)/.exec(line)?.[1]));
    const said = (words: string) => shop.log.filter(({ msg }) => String(msg).includes(words)).length;

    /** Work is done although the connection cannot come back, until it can. */
    const goesOn = async (forbid: () => Promise<unknown>, allow: () => Promise<unknown>) => {
      await shop.worker();
      await eventually(async () => (await waiting()).length === 1);
      await forbid();
      for (const id of await waiting()) await admin.client("KILL", "ID", id);
      for (const input of ["first", "second"]) expect(await shop.answer(await shop.submit(input))).to.equal(input);
      expect(said("asking on the usual one")).to.equal(1);
      await allow();
      // The next try.
      mock.timers.tick(REOPEN_MS);
      await eventually(async () => (await waiting()).length === 1);
      expect(said("requests can wait in the store again")).to.equal(1);
      expect(await shop.answer(await shop.submit("third"))).to.equal("third");
    };

    it("asks on the usual one while the store has too many clients", async () => {
      shop = await openWorkshop([jobs()], { url: store.url });
      await goesOn(
        () => admin.config("SET", "maxclients", 1),
        () => admin.config("SET", "maxclients", 10_000),
      );
    });

    it("asks on the usual one while its password is wrong", async () => {
      const url = new URL(store.url);
      [url.username, url.password] = ["worker", "before"];
      const password = (word: string) =>
        admin.call("ACL", "SETUSER", "worker", "on", "resetpass", `>${word}`, "~*", "&*", "+@all");
      await password("before");
      shop = await openWorkshop([jobs()], { url: url.href });
      await goesOn(
        () => password("after"),
        () => password("before"),
      );
    });

    it("waits until no request can run on it if it may not end connections", async () => {
      const url = new URL(store.url);
      [url.username, url.password] = ["worker", "word"];
      await admin.call("ACL", "SETUSER", "worker", "on", ">word", "~*", "&*", "+@all", "-client|kill");
      shop = await openWorkshop([jobs()], { url: url.href });
      await goesOn(
        () => admin.config("SET", "maxclients", 1),
        () => admin.config("SET", "maxclients", 10_000),
      );
    });
  });
});
