import { expect } from "chai";
import { claimOf } from "../../../src/engine/upkeep/deployment.ts";
import { verifyStore } from "../../../src/engine/upkeep/verify.ts";
import { StartError } from "../../../src/errors.ts";
import { createLog } from "../../../src/log.ts";
import { failureOf, type TestEngine } from "../../helpers/engine.ts";
import { storeUrl } from "../../helpers/store/run-store.ts";
import { eventually } from "../../shared/eventually.ts";
import { submissionOf } from "../../shared/submission.ts";
import { verifiedEngines } from "./verified.ts";

describe("a verification", () => {
  const { open, found } = verifiedEngines();

  it("finds and repairs whatever is wrong with the index of a line", async () => {
    const t = await open({ settings: { attempts: 1 } });
    const share = { key: "s", weight: 1 };
    for (const id of ["runs", "dead"]) await t.submit({ id });
    const [, dead] = await t.reserve(2);
    await t.engine.leases.fail({ queue: "jobs", id: "dead", fence: dead?.fence ?? "" }, failureOf("retry"), t.settings);
    await t.submit({ id: "waits", share, deadlineMs: 60_000 });
    await t.submit({ id: "later", delayMs: 60_000 });
    expect(await found(t, false)).to.deep.equal([]);
    const key = (kind: Parameters<TestEngine["key"]>[0]) => t.key(kind);
    const damages: readonly (readonly [string, () => Promise<unknown>])[] = [
      ["waits", () => t.redis.zrem(key("waiting"), "waits")],
      ["waits", () => t.redis.zrem(key("deadlines"), "waits")],
      ["waits", () => t.redis.zadd(key("leases"), 1, "waits")],
      ["later", () => t.redis.zrem(key("scheduled"), "later")],
      ["runs", () => t.redis.zrem(key("leases"), "runs")],
      ["runs", () => t.redis.zadd(key("waiting"), 1, "runs")],
      ["waits", () => t.redis.zadd(key("dead"), 1, "waits")],
      ["gone", () => t.redis.zadd(key("waiting"), 1, "gone")],
      ["gone", () => t.redis.zadd(key("scheduled"), 1, "gone")],
      ["gone", () => t.redis.zadd(key("leases"), 1, "gone")],
      ["gone", () => t.redis.zadd(key("dead"), 1, "gone")],
      ["3 other", () => t.redis.zadd(key("shareEnds"), 1, "3 other")],
      ["3 other", () => t.redis.hset(key("shares"), "3 other", "1 2 gone")],
    ];
    for (const [n, [id, damage]] of damages.entries()) {
      await damage();
      expect(await found(t, false), `damage ${n}`).to.deep.equal([id]);
      expect(await found(t, true), `damage ${n}`).to.deep.equal([id]);
      expect(await found(t, false), `after damage ${n}`).to.deep.equal([]);
    }
    // It is in its class again.
    expect((await t.submit({ id: "urgent", priority: 1 })).index).to.equal(0);
    const states = await Promise.all(["waits", "later", "runs", "dead"].map(async (id) => (await t.look(id)).state));
    expect(states).to.deep.equal(["waiting", "scheduled", "running", "failed"]);
  });

  it("needs only the prefix of a store, and says how much it has checked", async () => {
    const t = await open({ partitions: 3 });
    const log = createLog("silent");
    const verified = () => verifyStore(storeUrl(), t.keys.prefix, { heal: false }, log);
    // As a server does at its first start.
    const unused = await verified().catch((error: unknown) => error);
    expect(unused).to.be.instanceOf(StartError);
    expect(String(unused)).to.include(t.keys.prefix);
    await t.scripts.claim(t.keys.tag(0), claimOf(t.keys));
    const ids = [1, 2, 3, 4, 5].map((nth) => t.keys.idIn(t.keys.partitionOfQueue("jobs"), (n) => `${nth}-${n}`));
    const [first = "", second = "", ...later] = ids;
    for (const id of [first, second]) await t.submit({ id });
    for (const id of later) await t.submit({ id, delayMs: 60_000 });
    expect(await verified()).to.deep.equal({ tasks: 5, entries: 5, disagreeing: [] });
    await t.redis.zrem(t.key("waiting"), first);
    expect(await verified()).to.deep.equal({ tasks: 5, entries: 4, disagreeing: [first] });
  });

  it("tells workers of a task of a key that may start again", async () => {
    const t = await open({ settings: { keyedConcurrency: 1 } });
    for (const id of ["a", "b"]) await t.submit({ id, key: "k" });
    let heard = 0;
    await t.engine.pubsub.listen(t.keys.workChannel(0, "jobs"), () => {
      heard += 1;
    });
    await t.redis.zrem(t.key("startable"), "a");
    await found(t, true);
    await eventually(async () => heard > 0);
    expect((await t.reserve(2)).map(({ id }) => id)).to.have.length(1);
  });

  it("finds nothing when the limit for a key has changed while a task waits for another attempt", async () => {
    for (const [before, after] of [
      [1, 3],
      [3, 1],
      [2, 12],
      [12, 2],
    ] as const) {
      const t = await open({ settings: { attempts: 3, keyedConcurrency: before } });
      for (const id of ["a1", "a2", "a3", "a4"]) await t.submit({ id, key: "a" });
      for (const { id, fence } of await t.reserve(1)) {
        await t.engine.leases.fail({ queue: "jobs", id, fence }, failureOf("retry", 60_000), t.settings);
      }
      await t.reserve(1);
      await t.engine.submitter.submit(submissionOf("a5", "jobs", "1", { key: "a" }), {
        ...t.settings,
        keyedConcurrency: after,
      });
      expect(await found(t, false), `from ${before} to ${after}`).to.deep.equal([]);
      await t.reserve(1);
      expect(await found(t, false), `from ${before} to ${after}, decided`).to.deep.equal([]);
    }
  });
});
