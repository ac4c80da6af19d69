import { expect } from "chai";
import { defineHandler } from "../../src/handler/define.ts";
import { createLog } from "../../src/log.ts";
import { Ticker } from "../../src/workers/ticker.ts";
import { openWorkshop } from "../helpers/workshop.ts";
import { eventually } from "../shared/eventually.ts";

const SOON_MS = 200;
/** Less than the pause between two ticks of an idle process with leases of 15 s, ms. */
const BEFORE_NEXT_MS = 3000;
const PATIENCE_MS = 60_000;

/** A worker with the usual ticks, whose pauses are seen. */
async function openIdle({ lease = "15s", env = {}, deaf = false } = {}) {
  const run = () => "done";
  const handlers = [
    defineHandler({ queue: "jobs", lease, run }),
    defineHandler({ queue: "unserved", lease, concurrency: 0, run }),
  ];
  const shop = await openWorkshop(handlers, { timeless: true, env });
  if (deaf) shop.engine.pubsub.listen = async () => () => undefined;
  const tick = shop.engine.maintenance.tick.bind(shop.engine.maintenance);
  let ticks = 0;
  let pausedMs = 0;
  shop.engine.maintenance.tick = async (partition, given = 0) => {
    const ticked = await tick(partition, given);
    ticks += 1;
    pausedMs = given;
    return ticked;
  };
  const ticker = new Ticker(shop.engine, createLog("silent"));
  ticker.start();
  await shop.worker();
  return {
    ...shop,
    /** Resolves right after a tick that followed a long pause, with that pause: the next one is as far off. */
    async idle(): Promise<number> {
      const seen = ticks;
      await eventually(() => ticks > seen && pausedMs > 0, PATIENCE_MS);
      return pausedMs;
    },
    async close() {
      await ticker.stop();
      await shop.close();
    },
  };
}

describe("the ticks of an idle process", function () {
  this.timeout(3 * PATIENCE_MS);
  let shop: Awaited<ReturnType<typeof openIdle>>;
  afterEach(() => shop.close());

  it("come less often, but before any lease that began meanwhile can end", async () => {
    shop = await openIdle({ lease: "4s" });
    expect(await shop.idle()).to.be.within(1500, 2000);
  });

  it("come when something is due that was submitted since the last one", async () => {
    shop = await openIdle();
    expect(await shop.idle()).to.be.above(BEFORE_NEXT_MS);
    const late = await shop.submit(1, { queue: "unserved", deadlineMs: SOON_MS });
    const due = await shop.submit(1, { queue: "jobs", delayMs: SOON_MS });
    for (const [id, state] of [
      [late, "canceled"],
      [due, "succeeded"],
    ] as const) {
      const ended = await shop.ended(id);
      expect(ended.state).to.equal(state);
      expect((ended.finishedMs ?? Number.NaN) - ended.createdMs, state).to.be.below(BEFORE_NEXT_MS);
    }
  });

  it("find work that no message announced", async () => {
    // With one partition the request for work waits in the store.
    shop = await openIdle({ env: { PARTITIONS: "2" }, deaf: true });
    await shop.idle();
    const id = await shop.submit(1, { queue: "jobs" });
    expect((await shop.ended(id)).state).to.equal("succeeded");
  });
});
