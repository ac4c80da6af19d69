import { expect } from "chai";
import { defineHandler } from "../../src/handler/define.ts";
import { createLog } from "../../src/log.ts";
import { Ticker } from "../../src/workers/ticker.ts";
import { openWorkshop } from "../helpers/workshop.ts";
import { eventually } from "../shared/eventually.ts";

/** The pauses of a process that is idle at once, ms: longer than any test waits. */
const PAUSES = { usualMs: 1, idleMs: 1_000_000, idleAfterMs: 0 } as const;

describe("the ticks of an idle process", () => {
  let ticker: Ticker;
  let shop: Awaited<ReturnType<typeof openWorkshop>>;
  afterEach(async () => {
    await ticker.stop();
    await shop.close();
  });

  /** A workshop whose ticker is idle, after its first tick. */
  const openIdle = async (pauses: ConstructorParameters<typeof Ticker>[2]) => {
    const run = () => "done";
    const handlers = [defineHandler({ queue: "jobs", run }), defineHandler({ queue: "unserved", concurrency: 0, run })];
    // A pause is shorter than any lease.
    shop = await openWorkshop(handlers, { timeless: true, env: { LEASE: "10m" } });
    const tick = shop.engine.upkeep.tick.bind(shop.engine.upkeep);
    let ticks = 0;
    shop.engine.upkeep.tick = async (partition, pausedMs) => {
      const ticked = await tick(partition, pausedMs);
      ticks += 1;
      return ticked;
    };
    ticker = new Ticker(shop.engine, createLog("silent"), pauses);
    ticker.start();
    await eventually(() => ticks > 0);
  };

  it("come when something is due that was submitted since the last one", async () => {
    await openIdle(PAUSES);
    await shop.worker();
    // One after the other, since the tick for one would also find the other.
    const late = await shop.submit(1, { queue: "unserved", deadlineMs: 50 });
    expect((await shop.ended(late)).state).to.equal("canceled");
    const due = await shop.submit(1, { queue: "jobs", delayMs: 50 });
    expect((await shop.ended(due)).state).to.equal("succeeded");
  });

  it("find work that no message announced", async () => {
    await openIdle({ ...PAUSES, idleMs: 50 });
    shop.engine.leases.openStandby = async () => undefined;
    shop.engine.pubsub.listen = async () => () => undefined;
    await shop.worker();
    const id = await shop.submit(1, { queue: "jobs" });
    expect((await shop.ended(id)).state).to.equal("succeeded");
  });
});
