import { expect } from "chai";
import { catalogueResult } from "../../../src/engine/tasks/result.ts";
import { verify } from "../../../src/engine/upkeep/verify.ts";
import { openEngine, type TestEngine } from "../../helpers/engine.ts";

const HOUR_MS = 3_600_000;
const SUSPECT_LEASE_MS = 1000;

describe("a suspect (a task that has lost a worker before)", () => {
  let t: TestEngine;
  let reservations = 0;
  const rate = { max: 3, perMs: HOUR_MS };
  beforeEach(async () => {
    t = await openEngine({ settings: { rate } });
  });
  afterEach(() => t.close());

  const lease = (task: { id: string; fence: string }) => ({ queue: "jobs", id: task.id, fence: task.fence });
  const take = async (limit: typeof rate | undefined = undefined) => {
    reservations += 1;
    const request = { queue: "jobs", worker: "w1", reservation: `r${reservations}`, count: 1, leaseMs: HOUR_MS };
    const reply = await t.engine.leases.reserve({ ...request, rate: limit, suspectLeaseMs: SUSPECT_LEASE_MS });
    return { task: reply.tasks[0] ?? { id: "", fence: "", lost: 0 }, pauseMs: reply.pauseMs };
  };
  const suspect = async () => {
    await t.submit({ id: "a" });
    await t.engine.call("lose", { ...lease((await take()).task) });
  };
  /** How long its lease still holds, ms. */
  const held = async () => {
    const [seconds = 0, micros = 0] = (await t.redis.time()).map(Number);
    return Number(await t.redis.zscore(t.key("leases"), "a")) - (seconds * 1000 + micros / 1000);
  };

  it("is held for a short time until its handler begins, then as long as any other", async () => {
    await suspect();
    const { task } = await take();
    expect(await held()).to.be.within(-HOUR_MS, SUSPECT_LEASE_MS);
    expect(await t.engine.call("begin", { ...lease(task), leaseMs: HOUR_MS, apart: false })).to.equal("ok");
    expect(await held()).to.be.above(HOUR_MS / 2);
  });

  it("says how often it has lost a worker once that was too often", async () => {
    await suspect();
    for (let outcome = "waiting"; outcome === "waiting"; ) {
      const { task } = await take();
      await t.engine.call("begin", { ...lease(task), leaseMs: HOUR_MS, apart: false });
      outcome = await t.engine.call("lose", { ...lease(task) });
    }
    const seen = await t.look("a");
    expect(seen).to.include({ state: "failed", errorCode: "worker-lost" });
    expect(seen.errors).to.include(`the worker was lost ${t.settings.maxLost + 1} times`);
  });

  it("uses none of its queue's rate if its handler does not begin", async () => {
    await suspect();
    const later = { kind: "later", delayMs: 0, error: "", code: "task-failed" } as const;
    for (let n = 0; n < 2 * rate.max; n += 1) {
      const { task } = await take(rate);
      expect(task.id, `reservation ${n}`).to.equal("a");
      const failure = { ...later, result: catalogueResult("task-failed") };
      if (n % 2 === 0) await t.engine.call("lose", { ...lease(task) });
      else await t.engine.leases.fail(lease(task), failure, t.settings);
      await t.engine.upkeep.tick(0);
    }
  });

  it("counts no loss if the store lost the entry of its lease", async () => {
    await t.submit({ id: "a" });
    await take();
    await t.redis.del(t.key("leases"));
    expect((await verify(t.redis, t.scripts, t.keys, { heal: true })).disagreeing).to.deep.equal(["a"]);
    const { lost } = await t.engine.upkeep.tick(0);
    expect(lost).to.deep.equal([{ queue: "jobs", id: "a", worker: "w1", losses: 0, outcome: "released" }]);
    expect((await take()).task).to.include({ id: "a", lost: 0 });
  });
});
