import { spawnSync } from "node:child_process";
import { setTimeout as delay } from "node:timers/promises";
import { expect } from "chai";
import { defineHandler } from "../../src/handler/define.ts";
import { deferred } from "../helpers/deferred.ts";
import { openWorkshop, type Workshop } from "../helpers/workshop.ts";
import { eventually } from "../shared/eventually.ts";
import { type PrivateRedis, startRedis } from "../shared/redis-server.ts";

/** Longer than the lease of the tasks, ms. */
const FROZEN_MS = 2500;
const TIMES = 2;

const there = spawnSync("redis-server", ["--version"], { stdio: "ignore" }).status === 0;
const suite = there ? describe : describe.skip;

suite(`a store that stands still for longer than a lease${there ? "" : " (left out: no redis-server on PATH)"}`, function () {
  this.timeout(60_000);
  let redis: PrivateRedis;
  let shop: Workshop;

  before(async () => {
    redis = await startRedis();
  });
  after(() => redis.stop("SIGKILL"));
  afterEach(() => shop.close());

  /** Counts the ticks that begin from now on and are answered. */
  const countTicks = () => {
    let count = 0;
    const tick = shop.engine.upkeep.tick.bind(shop.engine.upkeep);
    shop.engine.upkeep.tick = async (partition) => {
      const ticked = await tick(partition);
      count += 1;
      return ticked;
    };
    return () => count;
  };

  it("counts no loss against running tasks, however often", async () => {
    const gate = deferred();
    const handler = defineHandler({ queue: "held", lease: "1s", concurrency: 20, run: () => gate.promise });
    shop = await openWorkshop([handler], { url: redis.url });
    await shop.worker();
    const ids = await Promise.all(Array.from({ length: 20 }, (_, n) => shop.submit(n)));
    await Promise.all(ids.map((id) => shop.ended(id, "running")));
    for (let n = 0; n < TIMES; n += 1) {
      process.kill(redis.pid, "SIGSTOP");
      await delay(FROZEN_MS);
      const ticks = countTicks();
      process.kill(redis.pid, "SIGCONT");
      // The first of them would count whatever is to be counted.
      await eventually(() => ticks() >= 10);
    }
    gate.resolve();
    const ended = await Promise.all(ids.map((id) => shop.ended(id)));
    expect(ended.map(({ state, lost, attempts }) => [state, lost, attempts])).to.deep.equal(
      ids.map(() => ["succeeded", 0, 1]),
    );
  });
});
