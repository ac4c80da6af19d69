import { setTimeout as delay } from "node:timers/promises";
import { expect } from "chai";
import { defineHandler, type Handler } from "../../src/handler/define.ts";
import { createLog } from "../../src/log.ts";
import { connectOnce } from "../../src/store/servers/connect-once.ts";
import { findServerBinary } from "../../src/store/servers/native/server-binary.ts";
import { deferred } from "../helpers/deferred.ts";
import { storeKind } from "../helpers/store/run-store.ts";
import { openWorkshop, type Workshop } from "../helpers/workshop.ts";
import { eventually } from "../shared/eventually.ts";
import { type PrivateRedis, startRedis } from "../shared/redis-server.ts";

describe("a worker whose store goes away", () => {
  let redis: PrivateRedis;
  let shop: Workshop;
  let gate: ReturnType<typeof deferred<void>>;
  const runs = new Map<string, number>();

  before(async function () {
    // A store of its own, with which it may do as it likes, is for machines that have a server.
    if (storeKind() === "embedded" || (await findServerBinary(createLog("silent"))).binary === undefined) this.skip();
  });

  beforeEach(async () => {
    runs.clear();
    gate = deferred();
    redis = await startRedis({ args: ["--appendonly", "yes", "--appendfsync", "always"] });
    const jobs = defineHandler<string>({
      queue: "jobs",
      // Enough for two requests for tasks to be underway.
      concurrency: 24,
      run: async (input, task) => {
        runs.set(task.id, (runs.get(task.id) ?? 0) + 1);
        if (input === "wait") await gate.promise;
        return input;
      },
    }) as Handler;
    shop = await openWorkshop([jobs], { url: redis.url });
    await shop.worker();
  });
  afterEach(async () => {
    await shop?.close();
    await redis?.stop("SIGKILL");
  });

  it("stores what was finished meanwhile once it is back, and continues without a restart", async () => {
    const id = await shop.submit("wait");
    await shop.ended(id, "running");
    await redis.stop("SIGKILL");
    gate.resolve();
    await eventually(() =>
      shop.log.some(({ msg }) => msg === "runner: could not store the end of the attempt; retrying"),
    );
    await redis.restart();
    expect(await eventually(() => shop.answer(id))).to.equal("wait");
    expect(await shop.answer(await shop.submit("next"))).to.equal("next");
    expect([runs.get(id), (await shop.look(id)).lost]).to.deep.equal([1, 0]);
  });

  it("continues with a store that comes back empty", async () => {
    const id = await shop.submit("wait");
    await shop.ended(id, "running");
    await redis.stop("SIGKILL");
    await redis.restart(["--appendonly", "no"]);
    gate.resolve();
    expect(await eventually(async () => shop.answer(await shop.submit("anew")))).to.equal("anew");
  });

  it("loses nothing while its connections are cut repeatedly", async function () {
    // A submission gets through between two cuts by chance.
    this.timeout(60_000);
    const ids: string[] = [];
    const knife = await connectOnce(redis.url);
    let cutting = true;
    const cuts = (async () => {
      while (cutting) {
        await knife.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
        await knife.call("CLIENT", "KILL", "TYPE", "pubsub");
        await delay(20);
      }
    })();
    while (ids.length < 60) {
      const id = `cut-${ids.length}`;
      // The submission may be answered with an error and yet be in: the same again is no second task.
      await eventually(() => shop.submit("x", { id }).catch((error: Error) => error.message.endsWith("replay")));
      ids.push(id);
    }
    cutting = false;
    await cuts;
    knife.disconnect();
    for (const id of ids) expect(await eventually(() => shop.answer(id))).to.equal("x");
    expect(ids.filter((id) => !runs.has(id))).to.deep.equal([]);
  });
});
