import { expect } from "chai";
import type { ReservedTask } from "../../../src/store/line/reserve.ts";
import { openEngine, type TestEngine } from "../../helpers/engine.ts";
import { storedKey } from "../../helpers/store/stored.ts";

/** As ops/tick.lua has it. */
const MAX_GAPS = 10;
const LEASE_MS = 60_000;

describe("leases that ended while no tick ran", () => {
  let t: TestEngine;

  beforeEach(async () => {
    t = await openEngine({ settings: { maxLost: 1, leaseMs: LEASE_MS } });
  });
  afterEach(() => t.close());

  const lost = async () => (await t.engine.upkeep.tick(0)).lost.map(({ id }) => id);
  const ticked = () => storedKey(t.keys.tag(0), "ticked");
  /** The last tick was so long ago. */
  const gap = async (ms: number) => t.redis.hset(ticked(), "at", Date.now() - ms);
  /** The lease ended so long ago. */
  const end = async (ms: number) => t.redis.zadd(t.key("leases"), "XX", Date.now() - ms, "a");

  /** A task whose lease has ended since the last tick. */
  const lapsed = async (): Promise<ReservedTask> => {
    await t.submit({ id: "a" });
    await t.engine.upkeep.tick(0);
    const [task] = await t.reserve(1, { leaseMs: LEASE_MS });
    if (!task) throw new Error("nothing to take");
    await end(3000);
    return task;
  };

  it("go on for half of their time, and are lost if nobody renews them until then", async () => {
    await lapsed();
    await gap(10_000);
    const { lost: none, nextMs } = await t.engine.upkeep.tick(0);
    expect(none).to.deep.equal([]);
    expect(nextMs).to.be.within(LEASE_MS / 2 - 5000, LEASE_MS / 2);
    // As if that were over.
    await t.redis.hset(ticked(), { "gap from": 1, "gap to": 2 });
    await end(1);
    expect(await lost()).to.deep.equal(["a"]);
    expect(await t.look("a")).to.include({ state: "waiting", lost: 1 });
  });

  it("go on as usual once they are renewed", async () => {
    const { id, fence } = await lapsed();
    await gap(10_000);
    expect(await lost()).to.deep.equal([]);
    expect(await t.engine.leases.renew({ queue: "jobs", id, fence }, LEASE_MS)).to.equal("ok");
    const { nextMs } = await t.engine.upkeep.tick(0);
    expect(nextMs).to.be.within(LEASE_MS - 5000, LEASE_MS);
  });

  it("are lost at once if the process of the tick waited that long on purpose", async () => {
    await lapsed();
    await gap(6000);
    expect((await t.engine.upkeep.tick(0, 6000)).lost.map(({ id }) => id)).to.deep.equal(["a"]);
  });

  it("go on if the tick comes later than its process intended", async () => {
    await lapsed();
    await gap(10_000);
    expect((await t.engine.upkeep.tick(0, 6000)).lost).to.deep.equal([]);
  });

  it("go on also if they end soon after that time, before they can be renewed", async () => {
    await lapsed();
    await t.redis.hset(ticked(), { "gap from": Date.now() - 10_000, "gap to": Date.now() - 500 });
    await end(100);
    expect(await lost()).to.deep.equal([]);
  });

  it("go on again if another gap follows", async () => {
    await lapsed();
    await gap(10_000);
    expect(await lost()).to.deep.equal([]);
    // As if another minute had passed, in which nobody could do anything.
    await end(LEASE_MS / 2);
    await gap(LEASE_MS);
    expect(await lost()).to.deep.equal([]);
  });

  it(`are lost after ${MAX_GAPS} gaps if every tick is late`, async () => {
    await lapsed();
    for (let n = 0; n < MAX_GAPS; n += 1) {
      await gap(4000);
      await end(3000);
      expect(await lost(), `gap ${n + 1}`).to.deep.equal([]);
    }
    await t.redis.hset(ticked(), { "gap from": 1, "gap to": 2 });
    await gap(4000);
    await end(3000);
    expect(await lost()).to.deep.equal(["a"]);
  });

  it("are lost if they had ended before", async () => {
    await lapsed();
    await gap(10_000);
    await end(15_000);
    expect(await lost()).to.deep.equal(["a"]);
  });

  it("go on through as many gaps again after a tick that was not late", async () => {
    await lapsed();
    for (const _ of [1, 2]) {
      for (let n = 0; n < MAX_GAPS - 1; n += 1) {
        await gap(4000);
        await end(3000);
        expect(await lost(), `gap ${n + 1}`).to.deep.equal([]);
      }
      await gap(300);
      expect(await lost()).to.deep.equal([]);
    }
  });

  it("are lost if the clock was set back since that time", async () => {
    await lapsed();
    const hourAhead = Date.now() + 3_600_000;
    await t.redis.hset(ticked(), { at: hourAhead, "gap from": hourAhead - 10_000, "gap to": hourAhead });
    expect(await lost()).to.deep.equal(["a"]);
    expect(Number(await t.redis.hget(ticked(), "at")), "later gaps are noticed").to.be.below(hourAhead - 3_000_000);
  });
});
