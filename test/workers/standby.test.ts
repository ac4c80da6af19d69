import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { PaihaoError } from "../../src/errors.ts";
import { defineHandler, type Handler } from "../../src/handler/define.ts";
import { connectOnce } from "../../src/store/servers/probe.ts";
import { eventually } from "../../testbed/eventually.ts";
import { deferred } from "../helpers/deferred.ts";
import { storeUrl } from "../helpers/store/run-store.ts";
import { openWorkshop, type Workshop } from "../helpers/workshop.ts";

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
    const reserve = engine.reserve.bind(engine);
    engine.reserve = async (partition, request) => {
      const reply = await reserve(partition, request);
      ids.push(...reply.tasks.map(({ id }) => id));
      return reply;
    };
    return ids;
  };

  it("gets a task with the reply to it, and waits again", async () => {
    shop = await openWorkshop([jobs()]);
    const asked = askedFor(shop);
    await shop.worker();
    for (const input of ["first", "second"]) {
      await whenWaiting(1);
      expect(await shop.answer(await shop.submit(input))).to.equal(input);
    }
    expect(asked).to.deep.equal([]);
  });

  it("leaves to another one what it has no slot for", async () => {
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

  it("is told of work that no submission has brought", async () => {
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
    const open = shop.engine.openStandby.bind(shop.engine);
    let lost = 0;
    shop.engine.openStandby = async (queue) => {
      const standby = await open(queue);
      if (!standby) return undefined;
      const reserve = standby.reserve.bind(standby);
      standby.reserve = async (request, waitMs) => {
        const reply = await reserve(request, waitMs);
        if (waitMs === 0 || reply.tasks.length === 0) return reply;
        lost += 1;
        throw new PaihaoError("store-unavailable");
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

  it("asks as soon as it is told of work, if the user of the store may not end a wait", async () => {
    const [user, password] = [`user-${randomUUID()}`, randomUUID()];
    const admin = await connectOnce(storeUrl());
    await admin.call("ACL", "SETUSER", user, "on", `>${password}`, "~*", "&*", "+@all", "-client|unblock");
    try {
      const url = new URL(storeUrl());
      [url.username, url.password] = [user, password];
      shop = await openWorkshop([jobs()], { url: url.href });
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
});
