import { expect } from "chai";
import { failureOf, openEngine, resultOf, type TestEngine } from "../../helpers/engine.ts";
import { QUEUE, storedKey } from "../../helpers/store/stored.ts";

const ALL = 10_000;

describe("a fair line", () => {
  let t: TestEngine;
  beforeEach(async () => {
    t = await openEngine({ settings: { attempts: 1 } });
  });
  afterEach(() => t.close());

  const join = (key: string, id: string, options: { weight?: number; priority?: number; delayMs?: number } = {}) => {
    const { weight = 1, ...rest } = options;
    return t.submit({ id, share: { key, weight }, ...rest });
  };
  const joinAll = (key: string, count: number, weight = 1) =>
    Promise.all(Array.from({ length: count }, (_, n) => join(key, `${key}${n}`, { weight })));
  const start = async (count = 1) => (await t.reserve(count)).map((task) => task.id);
  const startAll = async () => {
    const started: string[] = [];
    for (let some = await start(100); some.length > 0; some = await start(100)) started.push(...some);
    return started;
  };
  const keysKept = async () => {
    const tag = t.keys.tag(0);
    return [await t.redis.hlen(storedKey(tag, "shares")), await t.redis.zcard(storedKey(tag, "shareEnds"))];
  };

  it("starts one of B after at most one more of A for each slot, though ten thousand of A wait", async () => {
    await joinAll("A", ALL);
    for (let n = 0; n < 5; n += 1) expect(await start(4)).to.have.length(4);
    const { index } = await join("B", "b");
    expect(index).to.be.at.most(1);
    expect(await start(4)).to.include("b");
  });

  it("gets fewer tasks in a call than a plain one, since each takes a script several times as long", async () => {
    const sizes: number[] = [];
    const { submit } = t.scripts;
    Object.assign(t.scripts, {
      submit: (tag: string, items: Parameters<typeof submit>[1]) => {
        sizes.push(items.length);
        return submit(tag, items);
      },
    });
    await joinAll("A", 100);
    expect(Math.max(...sizes)).to.be.at.most(20);
    expect(await startAll(), "in the order in which they came").to.deep.equal(
      Array.from({ length: 100 }, (_, n) => `A${n}`),
    );
    await Promise.all(Array.from({ length: 200 }, () => t.submit()));
    expect(Math.max(...sizes)).to.equal(100);
  });

  it("shares starts by weight, 1:3 within one task over any window in which both wait", async () => {
    await joinAll("A", 300);
    await joinAll("B", 900, 3);
    const started = await startAll();
    expect(started).to.have.length(1200);
    let min = 0;
    let max = 0;
    let lead = 0;
    for (const id of started) {
      // In tasks of A: what B has had more than three times what A has had.
      lead += id.startsWith("A") ? -1 : 1 / 3;
      min = Math.min(min, lead);
      max = Math.max(max, lead);
    }
    expect(max - min).to.be.at.most(1.34);
    expect(started.filter((id) => id.startsWith("A"))).to.deep.equal(Array.from({ length: 300 }, (_, n) => `A${n}`));
  });

  it("gives an idle key no credit for the time it was idle", async () => {
    await joinAll("A", 1000);
    await join("B", "b-first");
    for (let n = 0; n < 50; n += 1) await start(10);
    await Promise.all(Array.from({ length: 20 }, (_, n) => join("B", `B${n}`)));
    const next = await start(20);
    expect(next.filter((id) => id.startsWith("B")).length).to.be.within(9, 11);
  });

  it("does not charge a key for tasks canceled before they started", async () => {
    await joinAll("A", 1000);
    await join("B", "b0");
    await join("B", "b1");
    for (let n = 1; n < 1000; n += 1) await t.engine.call("cancel", { id: `A${n}`, queue: "jobs" });
    await join("A", "a-new");
    await join("B", "b2");
    expect(await startAll()).to.deep.equal(["A0", "b0", "b1", "a-new", "b2"]);
  });

  it("places a task after the waiting ones of its key, whatever was canceled before them", async () => {
    await joinAll("A", 6);
    for (const id of ["A1", "A0", "A3", "A5"]) await t.engine.call("cancel", { id, queue: "jobs" });
    await join("A", "a-new");
    await join("B", "b");
    expect((await startAll()).filter((id) => id !== "b")).to.deep.equal(["A2", "A4", "a-new"]);
  });

  it("keeps nothing about keys without waiting tasks", async () => {
    await Promise.all(Array.from({ length: 500 }, (_, n) => join(`key${n}`, `t${n}`)));
    await joinAll("A", 100);
    expect(await keysKept()).to.deep.equal([501, 501]);
    while ((await start(50)).some((id) => id.startsWith("t")));
    await start(20);
    expect((await keysKept())[0]).to.be.at.most(1);
    for (let n = 0; n < 100; n += 1) await t.engine.call("cancel", { id: `A${n}`, queue: "jobs" });
    expect(await keysKept()).to.deep.equal([0, 0]);
    await joinAll("C", 3);
    await start(3);
    expect(await keysKept()).to.deep.equal([0, 0]);
  });

  it("keeps equal starts in the order of arrival, for twenty thousand keys", async () => {
    const ids: string[] = [];
    for (let n = 0; n < 20_000; n += 1) ids.push(`n${n}`);
    for (let n = 0; n < ids.length; n += 5000) {
      await Promise.all(ids.slice(n, n + 5000).map((id) => t.submit({ id, share: { key: id, weight: 1 } })));
    }
    const started = await startAll();
    expect(started.filter((id, n) => id !== ids[n]).length).to.equal(0);
  }).timeout(120_000);

  it("puts classes first, and is fair within each", async () => {
    await join("A", "a0");
    await join("A", "a1");
    await join("A", "a-urgent", { priority: 0 });
    await join("A", "a-urgent-2", { priority: 0 });
    await join("B", "b-urgent", { priority: 0 });
    await join("B", "b0");
    await join("B", "low", { priority: 7 });
    expect(await startAll()).to.deep.equal(["a-urgent", "b-urgent", "a-urgent-2", "a0", "b0", "a1", "low"]);
  });

  it("answers a repeated submission with the same place", async () => {
    await joinAll("A", 3);
    expect(await join("A", "A2")).to.include({ verdict: "replay", index: 2 });
    expect((await join("B", "b")).index).to.equal(1);
    expect(await join("A", "A2")).to.include({ verdict: "replay", index: 3 });
  });

  it("reports the true place to a dry run, and to a submission refused by maxIndex", async () => {
    await joinAll("A", 3);
    const share = { key: "B", weight: 1 };
    expect(await t.submit({ id: "b", share, dryRun: true })).to.include({ verdict: "dry", index: 1 });
    expect(await t.submit({ id: "b", share, maxIndex: 0 })).to.include({ verdict: "long", index: 1 });
    expect(await t.submit({ id: "b", share, maxIndex: 1 })).to.include({ verdict: "new", index: 1 });
  });

  it("returns a released task to its old place, even if the line has been empty", async () => {
    await joinAll("A", 2);
    const [first] = await t.reserve(2);
    if (!first) throw new Error("nothing was taken");
    await joinAll("B", 2);
    await t.engine.call("release", { queue: "jobs", ...first });
    expect(await startAll()).to.deep.equal(["A0", "B0", "B1"]);
  });

  it("puts a retried dead task at the end of its key", async () => {
    await join("A", "A-dead");
    const [dead] = await t.reserve();
    if (!dead) throw new Error("nothing was taken");
    await t.engine.leases.fail({ queue: "jobs", ...dead }, failureOf("retry"), t.settings);
    await joinAll("A", 3);
    await joinAll("B", 5);
    await t.engine.call("retry", { id: "A-dead", queue: "jobs" });
    expect((await startAll()).filter((id) => id.startsWith("A"))).to.deep.equal(["A0", "A1", "A2", "A-dead"]);
  });

  it("gives a scheduled task its place when it is due", async () => {
    await join("B", "b-due", { delayMs: 1 });
    await joinAll("A", 4);
    await start(2);
    await t.makeDue("b-due");
    await t.engine.maintenance.tick(0);
    expect(await startAll()).to.deep.equal(["b-due", "A2", "A3"]);
  });

  it("never reaches the next class, nor stops, at the end of the span", async () => {
    const heavy = { weight: 0.000_001 };
    const tag = t.keys.tag(0);
    await t.redis.hset(storedKey(tag, "queue"), `${QUEUE.virtual}3`, 2 ** 49 - 3);
    await join("C", "less-urgent", { priority: 4 });
    await join("A", "a0", heavy);
    await join("A", "a1", heavy);
    await join("B", "b0");
    await join("B", "b1");
    const started = await startAll();
    expect(started).to.have.length(5);
    expect(started.at(-1)).to.equal("less-urgent");
  });

  it("begins anew in the second half of the span, once no task is left", async () => {
    const tag = t.keys.tag(0);
    await t.redis.hset(storedKey(tag, "queue"), `${QUEUE.virtual}3`, 2 ** 48 + 8192);
    await join("A", "a0");
    expect(await t.redis.hget(storedKey(tag, "queue"), `${QUEUE.virtual}3`)).to.equal(null);
    expect(await start()).to.deep.equal(["a0"]);
    expect(Number(await t.redis.hget(storedKey(tag, "queue"), `${QUEUE.virtual}3`))).to.equal(0);
  });

  it("begins anew also for keys whose tasks were followed by some of a plain line", async () => {
    await join("A", "a0");
    await t.submit({ id: "plain" });
    for (const id of ["a0", "plain"]) {
      const [task] = await t.reserve();
      expect(task?.id).to.equal(id);
      await t.engine.leases.complete({ queue: "jobs", id, fence: task?.fence ?? "" }, resultOf("x"), t.settings);
    }
    expect(await keysKept(), "the plain task deletes none").to.deep.equal([1, 1]);
    await t.redis.hset(t.key("queue"), `${QUEUE.virtual}3`, 2 ** 48 + 8192);
    await join("A", "a1");
    await join("B", "b");
    expect(await startAll(), "A has nothing to pay").to.deep.equal(["a1", "b"]);
  });

  it("starts tasks first that joined before the line was fair", async () => {
    for (let n = 0; n < 3; n += 1) await t.submit({ id: `plain${n}` });
    await joinAll("A", 2);
    await join("B", "b");
    expect(await startAll()).to.deep.equal(["plain0", "plain1", "plain2", "A0", "b", "A1"]);
  });

  it("starts tasks first that joined while the line was fair", async () => {
    await joinAll("A", 2);
    await t.submit({ id: "plain" });
    expect(await startAll()).to.deep.equal(["A0", "A1", "plain"]);
  });

  it("costs a plain line nothing", async () => {
    await t.submit({ id: "plain" });
    const [plain] = await t.reserve();
    if (!plain) throw new Error("nothing was taken");
    await t.engine.leases.complete({ queue: "jobs", ...plain }, resultOf("x"), t.settings);
    const tag = t.keys.tag(0);
    expect(await t.redis.exists(storedKey(tag, "shares"), storedKey(tag, "shareEnds"))).to.equal(0);
    expect(Object.keys(await t.redis.hgetall(storedKey(tag, "queue"))).join()).to.not.match(/virtual|room/);
  });

  it("counts places over partitions from the virtual time of each", async () => {
    const p = await openEngine({ partitions: 2 });
    try {
      const share = (key: string) => ({ key, weight: 1 });
      const idsIn = (partition: number, name: string, count: number) =>
        Array.from({ length: 200 }, (_, n) => `${name}${n}`)
          .filter((id) => p.keys.partitionOf(id) === partition)
          .slice(0, count);
      // One partition has come far, the other has just begun.
      for (const id of idsIn(0, "a", 30)) await p.submit({ id, share: share("A") });
      await p.reserve(28);
      for (const id of idsIn(1, "b", 10)) await p.submit({ id, share: share("B") });
      const [c = ""] = idsIn(0, "c", 1);
      const tried = await p.submit({ id: c, share: share("C"), dryRun: true });
      expect(tried.index).to.be.within(1, 2);
      expect((await p.submit({ id: c, share: share("C"), maxIndex: 0 })).verdict).to.equal("long");
      const { index, verdict } = await p.submit({ id: c, share: share("C"), maxIndex: 2 });
      expect(verdict).to.equal("new");
      expect(index).to.equal(tried.index);
      expect((await p.engine.inspector.inspect(c, { result: false }))?.index).to.equal(index);
    } finally {
      await p.close();
    }
  });
});
