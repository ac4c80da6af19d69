import { expect } from "chai";
import { scriptsOf } from "../../../src/store/library/scripts.ts";
import { BUSY_MS } from "../../helpers/busy.ts";
import { openEngine, resultOf, type TestEngine } from "../../helpers/engine.ts";
import { storedKey } from "../../helpers/store/stored.ts";
import { eventually } from "../../shared/eventually.ts";
import { submissionOf } from "../../shared/submission.ts";

const PARTITIONS = 3;
const TASKS = 3000;
/** How long what is left of a finished task is kept, ms: its result, then its tombstone. */
const KEPT = { resultTtlMs: 300, tombstoneTtlMs: 300 };

describe("the pointers to tasks whose ids lead elsewhere", () => {
  let t: TestEngine;
  /** How often it was looked at each task whether it is still there. */
  let looks: Map<string, number>;
  beforeEach(async () => {
    looks = new Map();
    t = await openEngine({
      partitions: PARTITIONS,
      settings: KEPT,
      makeScripts: (redis) => {
        const scripts = scriptsOf(redis);
        return {
          ...scripts,
          lifetimes: (tag, ids) => {
            for (const id of ids) looks.set(id, (looks.get(id) ?? 0) + 1);
            return scripts.lifetimes(tag, ids);
          },
        };
      },
    });
  });
  afterEach(() => t.close());

  const home = () => t.keys.partitionOf("jobs");
  const pointers = async () => {
    const found = await Promise.all(t.keys.tags.map((tag) => t.redis.zrange(storedKey(tag, "pointers"), "0", "-1")));
    return found.flat();
  };
  /** The time comes at which each of them is first looked at. */
  const passTime = async () => {
    for (const tag of t.keys.tags) {
      const ids = await t.redis.zrange(storedKey(tag, "pointers"), "0", "-1");
      if (ids.length > 0) await t.redis.zadd(storedKey(tag, "pointers"), ...ids.flatMap((id) => [1, id]));
    }
  };
  const check = async () => {
    for (const partition of t.keys.tags.keys()) while (await t.engine.upkeep.checkPointers(partition));
  };
  const finishAll = async (settings = t.settings) => {
    let done = 0;
    for (;;) {
      const request = { queue: "jobs", worker: "w", reservation: `r${done}`, leaseMs: 60_000, rate: undefined };
      const { tasks } = await t.engine.leases.reserve({ ...request, count: 100 });
      if (tasks.length === 0) return;
      done += tasks.length;
      await Promise.all(
        tasks.map(({ id, fence }) => t.engine.leases.complete({ queue: "jobs", id, fence }, resultOf(id), settings)),
      );
    }
  };

  it("are deleted soon after their tombstones, and each is checked at most twice", async () => {
    await Promise.all(Array.from({ length: TASKS }, (_, n) => t.submit({ id: `task${n}` })));
    const all = await pointers();
    expect(all.length).to.be.within(TASKS / 2, TASKS - 1);
    await finishAll();
    await passTime();
    await check();
    expect(looks.size, "looked at").to.equal(all.length);
    await eventually(async () => {
      await check();
      return (await pointers()).length === 0;
    }, 5000);
    expect(Math.max(...looks.values())).to.be.at.most(2);
    const records = await Promise.all(
      all.map((id) => t.redis.exists(storedKey(t.keys.tag(t.keys.partitionOf(id)), "task", id))),
    );
    expect(records.every((left) => left === 0)).to.equal(true);
  });

  it("are checked next when the rest of their tasks is deleted, even if that is after a day", async () => {
    await Promise.all(Array.from({ length: 20 }, (_, n) => t.submit({ id: `task${n}` })));
    const dayMs = 86_400_000;
    await finishAll({ ...t.settings, tombstoneTtlMs: dayMs });
    await passTime();
    const before = Date.now();
    await check();
    for (const tag of t.keys.tags) {
      const scores = (await t.redis.zrange(storedKey(tag, "pointers"), "0", "-1", "WITHSCORES")).filter(
        (_, n) => n % 2 === 1,
      );
      for (const at of scores) expect(Number(at) - before).to.be.within(dayMs - BUSY_MS, dayMs + BUSY_MS);
    }
  });

  it("stay until their tasks have ended, and are not checked again for a while", async () => {
    await Promise.all(Array.from({ length: 300 }, (_, n) => t.submit({ id: `task${n}` })));
    const all = await pointers();
    await passTime();
    for (let n = 0; n < 3; n += 1) await check();
    expect((await pointers()).sort()).to.deep.equal(all.sort());
    expect(new Set(looks.values())).to.deep.equal(new Set([1]));
  });

  it("belong to the callers of their tasks, which no other caller learns of", async () => {
    const id =
      Array.from({ length: 50 }, (_, n) => `task${n}`).find((some) => t.keys.partitionOf(some) !== home()) ?? "";
    await t.submit({ id, caller: "ann" });
    const other = { ...t.settings, queue: "other" };
    const again = (caller: string | null) =>
      t.engine.submitter.submit(submissionOf(id, "other", "1", { caller }), other);
    expect((await again(null)).verdict).to.equal("foreign");
    expect((await again("ann")).verdict).to.equal("elsewhere");
  });

  it("are divided among the processes: none is checked by two", async () => {
    const other = await openEngine({ partitions: PARTITIONS, settings: t.settings, prefix: t.keys.prefix });
    try {
      await Promise.all(Array.from({ length: 300 }, (_, n) => t.submit({ id: `task${n}` })));
      await passTime();
      const [partition = 0] = [...t.keys.tags.keys()].filter((p) => p !== t.keys.partitionOf("jobs"));
      const tag = t.keys.tag(partition);
      const first = await t.scripts.repoint(tag, { checked: [], limit: 10 });
      const second = await other.scripts.repoint(tag, { checked: [], limit: 10 });
      expect(first).to.have.length(10);
      expect(new Set([...first, ...second].map(({ id }) => id)).size).to.equal(20);
    } finally {
      await other.close();
    }
  });
});
