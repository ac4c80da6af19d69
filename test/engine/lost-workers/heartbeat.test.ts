import { expect } from "chai";
import { openEngine, type TestEngine } from "../../helpers/engine.ts";
import { onCluster } from "../../helpers/store/run-store.ts";
import { QUEUE } from "../../helpers/store/stored.ts";

const TTL_MS = 60_000;

describe("a heartbeat", () => {
  let t: TestEngine;
  beforeEach(async () => {
    t = await openEngine();
  });
  afterEach(() => t.close());

  const beat = (worker: string, slots: number, ttlMs = TTL_MS, again = false) =>
    t.engine.workers.heartbeat(worker, ttlMs, new Map([["jobs", slots]]), { again });
  const line = async () => {
    const [row] = await t.engine.queues.figures(["jobs"]);
    return { workers: row?.snapshot.workers, slots: row?.snapshot.slots };
  };
  const live = () => t.key("workers");

  /** How often the server has run each command. */
  const commands = async () => {
    const stats = await (t.redis as { info(section: string): Promise<string> }).info("commandstats");
    return new Map([...stats.matchAll(/^cmdstat_(\S+?):calls=(\d+)/gm)].map((of) => [of[1] ?? "", Number(of[2])]));
  };

  it("counts each worker once, with its latest slots, until it leaves or falls silent", async () => {
    for (const [worker, slots] of [
      ["w1", 2],
      ["w2", 3],
      ["w1", 5],
    ] as const) {
      await beat(worker, slots);
    }
    expect(await line()).to.deep.equal({ workers: 2, slots: 8 });
    await beat("w2", 3, 0);
    await beat("w2", 3, 0);
    expect(await line()).to.deep.equal({ workers: 1, slots: 5 });
    await beat("w3", 1);
    await t.redis.zadd(live(), "XX", 1, "w1");
    await beat("w3", 1);
    expect(await line()).to.deep.equal({ workers: 1, slots: 1 });
  });

  it("that repeats the same only extends it, and still removes silent workers", async () => {
    await beat("w1", 2, 1000);
    const ends = async () => Number(await t.redis.zscore(live(), "w1"));
    const first = await ends();
    await beat("w1", 2, TTL_MS, true);
    expect((await ends()) - first).to.be.above(TTL_MS / 2);
    expect(await line()).to.deep.equal({ workers: 1, slots: 2 });
    await beat("w2", 3);
    await t.redis.zadd(live(), "XX", 1, "w2");
    await beat("w1", 2, TTL_MS, true);
    expect(await line()).to.deep.equal({ workers: 1, slots: 2 });
    // The store was emptied meanwhile.
    await t.redis.unlink(live(), t.key("slots"), t.key("queue"));
    await beat("w1", 2, TTL_MS, true);
    expect(await line()).to.deep.equal({ workers: 1, slots: 2 });
  });

  it("of a worker that is to take no more work is told so, also after a silence, or when the store was emptied", async () => {
    const heard = async (quiet = false) =>
      (await t.engine.workers.heartbeat("w1", TTL_MS, new Map([["jobs", 2]]), { quiet })).quiet;
    const tell = (quiet: boolean) => t.engine.workers.quiet("w1", quiet, ["jobs"]);
    expect(await heard()).to.equal(false);
    expect(await tell(true)).to.equal(true);
    expect(await heard()).to.equal(true);
    await t.redis.zadd(live(), "XX", 1, "w1");
    await beat("w2", 1);
    expect(await heard(), "it was silent").to.equal(true);
    await t.redis.unlink(live(), t.key("slots"), t.key("queue"));
    expect(await heard(true), "it knows that itself").to.equal(true);
    expect(await heard()).to.equal(true);
    await tell(false);
    expect(await heard(true), "it has not heard of that yet").to.equal(false);
    await tell(true);
    await beat("w1", 2, 0);
    expect(await heard(), "it has left, and come back").to.equal(false);
  });

  it("keeps no worker for longer than five minutes if the clock was set back", async () => {
    await beat("w1", 2);
    await t.redis.zadd(live(), Date.now() + 864e5, "w1");
    await beat("w2", 2);
    expect(Number(await t.redis.zscore(live(), "w1"))).to.be.below(Date.now() + 2 * 3e5);
  });

  it("reads no other worker, however many there are", async function () {
    // The commands of one server are counted.
    if (onCluster()) return this.skip();
    await beat("first", 1);
    for (let n = 0; n < 5000; n += 1000) {
      const names = Array.from({ length: 1000 }, (_, i) => `w${n + i}`);
      await t.redis.zadd(live(), ...names.flatMap((name) => [Date.now() + TTL_MS, name]));
      await t.redis.hset(t.key("slots"), ...names.flatMap((name) => [name, 1]));
    }
    await t.redis.hset(t.key("queue"), QUEUE.slots, 5001);
    const before = await commands();
    await beat("w1", 4);
    const after = await commands();
    const used = [...after].map(([name, calls]) => [name, calls - (before.get(name) ?? 0)] as const);
    expect(new Map(used).get("hgetall") ?? 0).to.equal(0);
    expect(used.reduce((sum, [, calls]) => sum + calls, 0)).to.be.at.most(20);
    expect(await line()).to.deep.equal({ workers: 5001, slots: 5004 });
  });

  it("reports many queues in several calls", async function () {
    if (onCluster()) return this.skip();
    const slots = new Map(Array.from({ length: 250 }, (_, n) => [`q${n}`, 1]));
    const scripts = async () => (await commands()).get("fcall") ?? 0;
    await t.engine.workers.heartbeat("w1", TTL_MS, slots);
    const before = await scripts();
    await t.engine.workers.heartbeat("w1", TTL_MS, slots);
    // And one that says that it is present.
    expect((await scripts()) - before).to.equal(3 + 1);
    const rows = await t.engine.queues.figures([...slots.keys()]);
    expect(rows.map(({ snapshot: { workers } }) => workers)).to.deep.equal(Array.from(slots, () => 1));
  });
});
