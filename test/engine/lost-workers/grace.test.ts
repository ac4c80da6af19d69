import { expect } from "chai";
import type { ReservedTask } from "../../../src/store/verbs/reserve.ts";
import { openEngine, type TestEngine } from "../../helpers/engine.ts";
import { storedKey } from "../../helpers/store/stored.ts";
import { eventually } from "../../shared/eventually.ts";

/** As lua/grace.lua has it. */
const MAX_GRACES = 10;
const GRACE_MS = 2000;

describe("leases that ended while no tick ran", () => {
  let t: TestEngine;

  beforeEach(async () => {
    t = await openEngine({ settings: { maxLost: 1 } });
  });
  afterEach(() => t.close());

  const lost = async () => (await t.engine.maintenance.tick(0)).lost.map(({ id }) => id);
  const ticked = () => storedKey(t.keys.tag(0), "ticked");
  /** The last tick was so long ago. */
  const gap = async (ms: number) => t.redis.hset(ticked(), "at", Date.now() - ms);

  /** A task whose lease has ended since the last tick. */
  const lapsed = async (): Promise<ReservedTask> => {
    await t.submit({ id: "a" });
    await t.engine.maintenance.tick(0);
    const [task] = await t.reserve(1, { leaseMs: 60_000 });
    if (!task) throw new Error("nothing to take");
    await t.redis.zadd(t.key("leases"), Date.now() - 3000, task.id);
    return task;
  };

  it("are kept during the grace, and lost if nobody renews them by its end", async () => {
    await lapsed();
    await gap(10_000);
    expect(await lost()).to.deep.equal([]);
    const { nextMs } = await t.engine.maintenance.tick(0);
    expect(nextMs, "the end of the grace").to.be.within(1, GRACE_MS);
    // As if it were over.
    await t.redis.hset(ticked(), { until: 0 });
    expect(await lost()).to.deep.equal(["a"]);
    const seen = await t.engine.inspector.inspect("a", { result: false });
    expect(seen).to.include({ state: "waiting", lost: 1 });
  });

  it("continue if they are renewed in the grace", async () => {
    const { id, fence } = await lapsed();
    await gap(10_000);
    expect(await lost()).to.deep.equal([]);
    expect(await t.engine.leases.renew({ queue: "jobs", id, fence }, 60_000)).to.equal("ok");
    // As if the grace were over.
    await t.redis.hset(ticked(), { until: 0 });
    expect(await lost()).to.deep.equal([]);
  });

  it("get none if the process of the tick waited that long on purpose", async () => {
    await lapsed();
    await gap(6000);
    expect((await t.engine.maintenance.tick(0, 6000)).lost.map(({ id }) => id)).to.deep.equal(["a"]);
  });

  it("get one if the tick comes later than its process intended", async () => {
    await lapsed();
    await gap(10_000);
    expect((await t.engine.maintenance.tick(0, 6000)).lost).to.deep.equal([]);
  });

  it("get a new grace if another gap cuts it short", async () => {
    await lapsed();
    await gap(10_000);
    expect(await lost()).to.deep.equal([]);
    const shifted = async (field: string, ms: number) => t.redis.hincrby(ticked(), field, -ms);
    // Nine seconds in which nobody could do anything, the end of the grace among them.
    for (const field of ["at", "held", "until"]) await shifted(field, 9000);
    await t.redis.zincrby(t.key("leases"), -9000, "a");
    expect(await lost()).to.deep.equal([]);
  });

  it(`are lost after ${MAX_GRACES} graces if every tick is late`, async () => {
    await lapsed();
    for (let n = 0; n < MAX_GRACES; n += 1) {
      await gap(4000);
      expect(await lost(), `grace ${n + 1}`).to.deep.equal([]);
    }
    await gap(4000);
    expect(await lost()).to.deep.equal(["a"]);
  });

  it("are lost in the grace if they had ended before the gap", async () => {
    await lapsed();
    await gap(10_000);
    await t.redis.zadd(t.key("leases"), "XX", Date.now() - 15_000, "a");
    expect(await lost()).to.deep.equal(["a"]);
  });

  it("get as many graces again after a tick that was not late", async () => {
    await lapsed();
    for (const _ of [1, 2]) {
      for (let n = 0; n < MAX_GRACES - 1; n += 1) {
        await gap(4000);
        expect(await lost(), `grace ${n + 1}`).to.deep.equal([]);
      }
      await gap(300);
      expect(await lost(), "the last grace still lasts").to.deep.equal([]);
    }
  });

  it("get the same grace if the clock is set forward, and not a longer one if it is set back", async () => {
    await lapsed();
    await t.redis.hset(ticked(), { at: Date.now() - 3_600_000 });
    expect(await lost()).to.deep.equal([]);
    const hourAhead = Date.now() + 3_600_000;
    await t.redis.hset(ticked(), { at: hourAhead, held: hourAhead - 10_000, until: hourAhead + GRACE_MS });
    await eventually(async () => expect(await lost()).to.deep.equal(["a"]));
  });
});
