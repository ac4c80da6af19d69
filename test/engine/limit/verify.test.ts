import { expect } from "chai";
import { verify } from "../../../src/engine/maintenance/verify.ts";
import { failureOf, openEngine, type TestEngine } from "../../helpers/engine.ts";

describe("the counts of limits", () => {
  let t: TestEngine;
  beforeEach(async () => {
    t = await openEngine({ settings: { attempts: 3, keyedConcurrency: 1, keyedWaiting: 4 } });
  });
  afterEach(() => t.close());
  const found = async (heal: boolean) => (await verify(t.redis, t.scripts, t.keys, { heal })).disagreeing;
  const line = () => t.key("keyLine", "jobs =ada");
  const counts = async () => (await t.submit({ key: "ada" })).reached;

  it("are proven and repaired by the check of the index, whatever is wrong with them", async () => {
    for (const id of ["retries", "runs", "waits", "held"]) {
      await t.submit({ id, key: "ada" });
      for (const { fence } of id === "retries" ? await t.reserve() : []) {
        await t.engine.leases.fail({ queue: "jobs", id, fence }, failureOf("retry", 60_000), t.settings);
      }
    }
    expect((await t.reserve(5)).map(({ id }) => id)).to.deep.equal(["runs"]);
    await t.submit({ id: "later", key: "ada", delayMs: 60_000 });
    await t.submit({ id: "other", key: "ben" });
    const right = { ...(await counts()), first: undefined };
    expect(right).to.include({ limit: 4, waiting: 4, running: 1 });
    expect(await found(false)).to.deep.equal([]);
    const damages: readonly (readonly [string, () => Promise<unknown>])[] = [
      ...["retries", "runs", "waits", "held", "later"].map((id) => [id, () => t.redis.zrem(line(), id)] as const),
      ...["retries", "waits", "held", "later"].map((id) => [id, () => t.redis.zadd(line(), -1, id)] as const),
      ["runs", () => t.redis.zadd(line(), 2 ** 50, "runs")],
      ["waits", () => t.redis.zadd(line(), 2 ** 50, "waits")],
      ["later", () => t.redis.zadd(line(), 7, "later")],
      ["retries", () => t.redis.zadd(line(), 7, "retries")],
      ["gone", () => t.redis.zadd(line(), 7, "gone")],
      ["gone", () => t.redis.zadd(line(), -1, "gone")],
      ["other", () => t.redis.zadd(line(), 2 ** 50, "other")],
      ["later", () => t.redis.zrem(t.key("scheduled"), "later")],
      ["retries", () => t.redis.zrem(t.key("scheduled"), "retries")],
    ];
    for (const [n, [id, damage]] of damages.entries()) {
      await damage();
      expect(await found(false), `damage ${n}`).to.include(id);
      expect(await found(true), `damage ${n}`).to.include(id);
      expect(await found(false), `after damage ${n}`).to.deep.equal([]);
      expect({ ...(await counts()), first: undefined }, `after damage ${n}`).to.deep.equal(right);
    }
    expect(await t.reserve(5), "of ben").to.have.length(1);
  });
});
