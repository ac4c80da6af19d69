import { expect } from "chai";
import { SHARED } from "../../../src/store/constants.ts";
import { placesOf } from "../../../src/store/verbs/count.ts";
import { openEngine, type TestEngine } from "../../helpers/engine.ts";

describe("counting places of other partitions", () => {
  let t: TestEngine;
  beforeEach(async () => {
    t = await openEngine();
  });
  afterEach(() => t.close());

  const start = 105_553_116_266_496;
  const scores = (...places: number[]) => places.map((place) => String(start + place));
  const count = async (asked: readonly string[], equals: boolean) =>
    (await t.scripts.count(t.keys.tag(0), [{ queue: "jobs", places: placesOf(asked), equals }]))[0]?.before;

  it("is exact for consecutive scores, whatever tasks are between them", async () => {
    for (const standing of [[], [5], [0, 99], [-1, 3, 4, 5, 50, 98, 200], Array.from({ length: 100 }, (_, n) => n)]) {
      const line = t.key("waiting");
      await t.redis.del(line);
      for (const place of standing) await t.redis.zadd(line, start + place, `t${place}`);
      const places = Array.from({ length: 100 }, (_, n) => n);
      for (const equals of [false, true]) {
        const before = places.map((p) => standing.filter((other) => (equals ? other <= p : other < p)).length);
        expect(await count(scores(...places), equals)).to.deep.equal(before);
      }
    }
  });

  it("is exact if a score with a fraction is among whole ones, as in a line that has become fair", async () => {
    const line = t.key("waiting");
    await t.redis.zadd(line, start, "a", start + 0.5, "b", start + 2, "c", start + 3, "d");
    await t.redis.hset(t.key("shares"), "3 =key", "0 0 b");
    expect(await count(scores(0, 1, 2, 3, 4), false)).to.deep.equal([0, 2, 2, 3, 4]);
  });

  it("is exact for scores in any order, alone and in runs", async () => {
    await t.redis.zadd(t.key("waiting"), start + 1, "a", start + 10, "b");
    expect(await count(scores(10, 0, 1, 2, 30, 11, 12), false)).to.deep.equal([1, 0, 0, 1, 2, 2, 2]);
    expect(await count([], false)).to.deep.equal([]);
  });

  it("also says whether the circuit breaker of the queue is open, which stops its tasks there too", async () => {
    const isOpen = async () =>
      (await t.scripts.count(t.keys.tag(0), [{ queue: "jobs", places: placesOf([]), equals: false }]))[0]?.breakerOpen;
    expect(await isOpen()).to.equal(false);
    for (let n = 0; n < SHARED.breakerFailures; n += 1) {
      const failure = { queue: "jobs", reference: `t@${n}`, state: "down", reason: "refused", request: "" } as const;
      await t.scripts.breakerReport(t.keys.tag(0), failure);
    }
    expect(await isOpen()).to.equal(true);
  });
});
