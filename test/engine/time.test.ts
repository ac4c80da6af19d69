import { expect } from "chai";
import { mastersOf } from "../../src/store/connection.ts";
import { openEngine, type TestEngine } from "../helpers/engine.ts";
import { QUEUE } from "../helpers/store/stored.ts";

const HOUR_MS = 3_600_000;
/** As library/call.lua and run.lua count: milliseconds since 2026, sixteen places and 1000 fences in each. */
const EPOCH_MS = Date.UTC(2026, 0, 1);

describe("the engine's time", () => {
  let t: TestEngine;
  let tag: string;
  const realNow = Date.now;

  beforeEach(async () => {
    t = await openEngine({ settings: { attempts: 2, maxLost: 1 } });
    tag = t.keys.tag(0);
  });
  afterEach(async () => {
    Date.now = realNow;
    await t.close();
  });

  const ok = { status: 200, contentType: "text/plain", headers: {}, body: Buffer.from("ok") };
  const look = (id: string) => t.engine.inspector.inspect(id, { result: true });
  const ids = (tasks: readonly { id: string }[]) => tasks.map((task) => task.id);
  /** From now on this process's clock is wrong by so much. */
  const shift = (ms: number) => {
    Date.now = () => realNow.call(Date) + ms;
  };
  /** The score of the last place given out. */
  const hlc = async () => Number(await t.redis.hget(t.key("queue"), QUEUE.hlc));

  it("is that of Redis: clients whose clocks are an hour off change nothing", async () => {
    for (const [n, wrong] of [HOUR_MS, -HOUR_MS, 0, -HOUR_MS, HOUR_MS].entries()) {
      shift(wrong);
      await t.submit({ id: `t${n}` });
    }
    shift(HOUR_MS);
    await t.submit({ id: "later", delayMs: HOUR_MS / 2 });
    expect(await t.engine.upkeep.tick(0)).to.include({ promoted: 0 });
    expect(ids(await t.reserve(2))).to.deep.equal(["t0", "t1"]);
    shift(-HOUR_MS);
    const [task] = await t.reserve(1, { leaseMs: 60_000 });
    if (!task) throw new Error("nothing to take");
    shift(HOUR_MS);
    expect((await t.engine.upkeep.tick(0)).lost, "leases that hold").to.deep.equal([]);
    const lease = { queue: "jobs", id: task.id, fence: task.fence };
    expect(await t.engine.leases.renew(lease, 60_000)).to.equal("ok");
    expect(await t.engine.leases.complete(lease, ok, t.settings)).to.equal("done");
    const seen = await look(task.id);
    expect(seen).to.include({ state: "succeeded", expired: false });
    expect(seen?.finishedMs).to.be.within(realNow() - 60_000, realNow() + 60_000);
    expect(ids(await t.reserve(10))).to.deep.equal(["t3", "t4"]);
  });

  it("never runs backwards for places and fences if the server's clock is set back", async () => {
    await t.submit({ id: "before" });
    const [before] = await t.reserve(1);
    // What an hour's lead of the old clock has left behind.
    const ahead = realNow() + HOUR_MS - EPOCH_MS;
    await t.redis.hset(t.key("queue"), { [QUEUE.hlc]: String(ahead * 16), [QUEUE.fence]: String(ahead * 1000) });
    const later = Array.from({ length: 50 }, (_, n) => `t${n}`);
    for (const id of later) await t.submit({ id });
    expect(await hlc()).to.equal(ahead * 16 + later.length);
    const taken = await t.reserve(50);
    expect(ids(taken)).to.deep.equal(later);
    const fences = taken.map((task) => Number(task.fence));
    expect(fences[0]).to.be.above(ahead * 1000);
    expect(fences).to.deep.equal([...fences].sort((a, b) => a - b));
    expect(new Set(fences).size).to.equal(fences.length);
    expect(fences[0]).to.be.above(Number(before?.fence));
  });

  it("moves at most its limit in one call, however many queues have something due, and skips none", async () => {
    const queues = ["q1", "q2", "q3"];
    for (const queue of queues) {
      for (let n = 0; n < 8; n += 1) {
        await t.submit({ id: `${queue}-${n}`, queue, delayMs: HOUR_MS });
        await t.redis.zadd(t.key("scheduled", queue), "XX", "1", `${queue}-${n}`);
      }
    }
    const keep = { maxLost: 1, deadMs: HOUR_MS, keepMs: HOUR_MS, tombstoneMs: HOUR_MS, problem: "x" };
    const tick = () =>
      t.scripts.tick(tag, { items: queues.map((queue) => ({ queue, ...keep })), limit: 10, deadCap: 10, timeout: "" });
    const promoted: number[] = [];
    for (let ticked = await tick(); ticked.promoted > 0; ticked = await tick()) {
      expect(ticked.nextMs).to.equal(promoted.length < 4 ? 0 : null);
      promoted.push(ticked.promoted);
    }
    // A task that joins the line counts twice.
    expect(promoted).to.deep.equal([5, 5, 5, 5, 4]);
  });

  it("survives FUNCTION FLUSH under load", async () => {
    let flushing = true;
    const flush = (async () => {
      let flushes = 0;
      for (; flushing; flushes += 1) await Promise.all(mastersOf(t.redis).map((node) => node.function("FLUSH")));
      return flushes;
    })();
    const all = Array.from({ length: 300 }, (_, n) => `t${n}`);
    const verdicts = await Promise.all(
      all.map(async (id, n) => {
        // Not all in one turn: many calls, of batches of every size.
        for (let turns = 0; turns < n % 20; turns += 1) await look(id);
        return (await t.submit({ id })).verdict;
      }),
    );
    expect(new Set(verdicts)).to.deep.equal(new Set(["new"]));
    const done: string[] = [];
    while (done.length < all.length) {
      const taken = await t.reserve(20);
      const endings = taken.map(({ id, fence }) =>
        t.engine.leases.complete({ queue: "jobs", id, fence }, ok, t.settings),
      );
      expect(new Set(await Promise.all(endings))).to.deep.equal(new Set(["done"]));
      done.push(...ids(taken));
      await t.engine.upkeep.tick(0);
    }
    flushing = false;
    expect(await flush).to.be.above(10);
    expect(done).to.have.members(all);
  });
});
