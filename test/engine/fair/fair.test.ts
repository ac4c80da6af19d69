import { expect } from "chai";
import { openEngine, resultOf, type TestEngine } from "../../helpers/engine.ts";
import { QUEUE, storedKey } from "../../helpers/store/stored.ts";

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
    await joinAll("A", 100);
    await joinAll("B", 300, 3);
    const started = await startAll();
    expect(started).to.have.length(400);
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
    expect(started.filter((id) => id.startsWith("A"))).to.deep.equal(Array.from({ length: 100 }, (_, n) => `A${n}`));
  });

  it("places a task after the waiting ones of its key, whatever was canceled before them", async () => {
    await joinAll("A", 6);
    for (const id of ["A1", "A0", "A3", "A5"]) await t.engine.call("cancel", { id, queue: "jobs" });
    await join("A", "a-new");
    await join("B", "b");
    expect((await startAll()).filter((id) => id !== "b")).to.deep.equal(["A2", "A4", "a-new"]);
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
});
