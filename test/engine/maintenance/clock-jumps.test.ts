import { setTimeout as delay } from "node:timers/promises";
import { expect } from "chai";
import { verify } from "../../../src/engine/maintenance/verify.ts";
import { openEngine, type TestEngine } from "../../helpers/engine.ts";
import { type ClockedRedis, canSetClocks, startClockedRedis } from "../../helpers/store/clocked-redis.ts";
import { eventually } from "../../shared/eventually.ts";
import { randomOf } from "../../shared/random.ts";

/** As the queue says: for how long another one was taken, the store does not know. */
const LEASE_MS = 1000;
const JUMPS = 12;
const LONGEST_JUMP_MS = 86_400_000;

describe("a clock that jumps again and again, forward and back", function () {
  this.timeout(90_000);
  let store: ClockedRedis;
  let t: TestEngine;
  before(async function () {
    if (!canSetClocks()) return this.skip();
    store = await startClockedRedis();
    t = await openEngine({ url: store.url, settings: { leaseMs: LEASE_MS, maxLost: 100 } });
  });
  after(async () => {
    await t?.close();
    await store?.stop();
  });

  it("takes nothing from a live worker, returns the tasks of dead ones, and never decreases a fence", async () => {
    const seed = Math.floor(Math.random() * 2 ** 31);
    const random = randomOf(seed);
    let stopped = false;
    try {
      await t.engine.maintenance.tick(0);
      await t.submit({ id: "live" });
      let renewedAt = performance.now();
      const [task] = await t.reserve(1, { worker: "live", leaseMs: LEASE_MS });
      let live: string | undefined = task?.fence ?? "";
      let fence = 0;
      let ticked = 0;
      const lost: string[] = [];
      const ticks = (async () => {
        for (; !stopped; await delay(100), ticked += 1) {
          // After a third of the lease, as workers do.
          if (live && performance.now() - renewedAt >= LEASE_MS / 3 - 100) {
            renewedAt = performance.now();
            const lease = { queue: "jobs", id: "live", fence: live };
            expect(await t.engine.leases.renew(lease, LEASE_MS)).to.equal("ok");
          }
          const ids = (await t.engine.maintenance.tick(0)).lost.map(({ id }) => id);
          lost.push(...ids);
          if (!live || !ids.includes("live")) continue;
          expect(performance.now() - renewedAt, "it stood still for as long as a lease").to.be.above(LEASE_MS);
          live = undefined;
        }
      })();
      const jumps = (async () => {
        for (let n = 0; n < JUMPS; n += 1) {
          const size = LONGEST_JUMP_MS ** random();
          store.setAhead(Math.round(random() < 0.5 ? size : -size));
          await t.submit({ id: `dead-${n}` });
          // Those before may be back in line.
          for (const task of await t.reserve(100, { worker: `dead-${n}`, leaseMs: LEASE_MS })) {
            expect(Number(task.fence), "fence").to.be.above(fence);
            fence = Number(task.fence);
          }
          // One tick sees the jump, the next one tells the store of it; a third may have been underway.
          const seen = ticked + 3 + Math.floor(5 * random());
          await eventually(() => stopped || ticked >= seen);
        }
      })();
      await Promise.race([jumps, ticks]);
      await eventually(() => new Set(lost.filter((id) => id.startsWith("dead"))).size === JUMPS);
      stopped = true;
      await ticks;
      expect((await verify(t.redis, t.scripts, t.keys, { heal: false })).disagreeing).to.deep.equal([]);
    } catch (error) {
      throw new Error(`seed ${seed}`, { cause: error });
    } finally {
      stopped = true;
    }
  });
});
