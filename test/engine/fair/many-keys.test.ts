import { expect } from "chai";
import { openEngine, type TestEngine } from "../../helpers/engine.ts";
import { storedKey } from "../../helpers/store/stored.ts";

/** Places of one start, see line/fair.lua. */
const TURNS = 8192;
const CLASS = 3 * 2 ** 45;
/** The most keys that are kept beside one for each waiting task. */
const MAX_IDLE = 1000;

describe("a fair line with many keys", () => {
  let t: TestEngine;
  let tag: string;
  beforeEach(async () => {
    t = await openEngine();
    tag = t.keys.tag(0);
  });
  afterEach(() => t.close());

  const join = (key: string, id = key) => t.submit({ id, share: { key, weight: 1 } });
  const kept = async () => [
    await t.redis.hlen(storedKey(tag, "shares")),
    await t.redis.zcard(storedKey(tag, "shareEnds")),
  ];
  /** Fills the turns of some starts, as far as a submission sees. */
  const fill = async (from: number, count: number) => {
    const last = (step: number) => (CLASS + (2 * ((step + 1) * TURNS - 1) + 1) / 32).toFixed(5);
    const entries = Array.from({ length: count }, (_, n) => [last(from + n), `full${from + n}`]);
    await t.redis.zadd(storedKey(tag, "waiting"), ...entries.flat());
  };
  const lookups = async () => {
    const stats = await t.redis.info("commandstats");
    return Number(/cmdstat_zrevrangebyscore:calls=(\d+)/.exec(stats)?.[1] ?? 0);
  };
  const lookupsOf = async (submit: () => Promise<unknown>) => {
    const before = await lookups();
    await submit();
    return (await lookups()) - before;
  };

  it("keeps about as many keys as are waiting, however many have had their turn", async () => {
    for (let n = 0; n < 25; n += 1) await join("busy", `busy${n}`);
    const left: string[] = [];
    for (let round = 0; round < 40; round += 1) {
      const ids = Array.from({ length: 100 }, (_, n) => `made-up-${round}-${n}`);
      await Promise.all(ids.map((id) => join(id)));
      left.push(...ids);
      for (const { id } of await t.reserve(100)) if (left.includes(id)) left.splice(left.indexOf(id), 1);
    }
    const waiting = await t.redis.zcard(storedKey(tag, "waiting"));
    expect(waiting).to.equal(25);
    for (const keys of await kept()) expect(keys).to.be.within(1, MAX_IDLE + waiting);
    // What waits is not forgotten: the next task of the key stands behind all others of it.
    expect((await join("busy", "last")).index).to.equal(waiting);
  });

  it("needs few steps to find the place of a task, however many starts are full", async () => {
    await fill(0, 40);
    const ids = Array.from({ length: 100 }, (_, n) => `key${n}`);
    expect(await lookupsOf(() => join("first"))).to.be.at.most(2 + 2 * Math.log2(64));
    expect(await lookupsOf(() => Promise.all(ids.map((id) => join(id))))).to.be.at.most(3 * ids.length);
    // The second of each begins a task of work later, which is among the full ones too.
    const second = () => Promise.all(ids.map((id) => join(id, `${id}-2`)));
    expect(await lookupsOf(second)).to.be.at.most(3 * ids.length);
    await fill(160, 60);
    const tenth = async () => {
      for (let n = 3; n <= 11; n += 1) await join("key0", `key0-${n}`);
    };
    expect(await lookupsOf(tenth)).to.be.at.most(9 * 3 + 2 * Math.log2(64));
    const line = await t.redis.zrange(storedKey(tag, "waiting"), "0", "-1");
    const place = (id: string) => line.indexOf(id);
    expect(place("key0")).to.be.above(place("full39"));
    expect(place("key0-2")).to.be.above(place("key99"));
    expect(place("key0-11")).to.equal(line.length - 1);
  });
});
