import { expect } from "chai";
import { nameOf } from "../../../src/engine/tasks/submission.ts";
import { bulkStep } from "../../../src/engine/upkeep/bulk.ts";
import type { Page } from "../../../src/engine/watch/pages.ts";
import { cursorOf, readCursor } from "../../../src/http/queues/lists.ts";
import type { Filter, Place } from "../../../src/store/line/page.ts";
import { runOf } from "../../../src/store/task/record.ts";
import { failureOf, openEngine, resultOf, type TestEngine } from "../../helpers/engine.ts";
import { storedKey, TASK } from "../../helpers/store/stored.ts";

describe("the lists of a queue", () => {
  let t: TestEngine;
  afterEach(() => t.close());

  /** All pages: the ids, and of each page how many entries were looked at. */
  const walk = async (read: (after: Place | null) => Promise<Page>) => {
    const ids: string[] = [];
    const looked: number[] = [];
    for (let after: Place | null = null; ; ) {
      const page = await read(after);
      ids.push(...page.entries.map(({ id }) => id));
      looked.push(page.looked);
      after = page.next;
      if (after === null) return { ids, looked };
    }
  };
  const waiting = (filter: Filter | undefined, limit = 50) =>
    walk((after) => t.engine.queues.page("waiting", { queue: "jobs", after, limit, filter }));

  it("are paged in order and without an empty page at the end", async () => {
    t = await openEngine();
    const ids = Array.from({ length: 30 }, (_, n) => `t${n}`);
    for (const id of ids) await t.submit({ id });
    for (const limit of [1, 4, 10, 30, 200]) {
      const { ids: seen, looked } = await waiting(undefined, limit);
      expect(seen, String(limit)).to.deep.equal(ids);
      expect(looked.every((n) => n > 0)).to.equal(true);
    }
  });

  it("go on from a cursor after any task: of a fair line, or one that was moved to the start", async () => {
    t = await openEngine();
    for (const id of ["a", "b"]) await t.submit({ id, share: { key: "ann", weight: 1 } });
    await t.submit({ id: "c", queue: "plain" });
    for (const id of ["d", "e"]) {
      await t.submit({ id, queue: "plain" });
      await t.engine.submitter.move({ id, queue: "plain" }, { place: "first" });
    }
    const read = (queue: string) =>
      walk(async (after) => {
        const page = await t.engine.queues.page("waiting", { queue, after, limit: 1 });
        return { ...page, next: page.next && readCursor(cursorOf(page.next)) };
      });
    expect((await read("jobs")).ids).to.deep.equal(["a", "b"]);
    expect((await read("plain")).ids).to.deep.equal(["e", "d", "c"]);
  });

  it("are paged through a hundred thousand that are due at one instant", async () => {
    t = await openEngine();
    const ids = Array.from({ length: 100_000 }, (_, n) => `t${n}`);
    const due = t.key("scheduled");
    for (let i = 0; i < ids.length; i += 10_000) {
      await t.redis.zadd(due, ...ids.slice(i, i + 10_000).flatMap((id) => ["7", id]));
    }
    const sorted = ids.toSorted();
    for (const n of [0, 49_999, 99_989]) {
      const after = { score: "7", id: sorted[n] ?? "" };
      // Also where the last one of the page before has left.
      await t.redis.zrem(due, after.id);
      const { entries, next } = await t.engine.queues.page("scheduled", { queue: "jobs", after, limit: 10 });
      expect(entries.map(({ id }) => id)).to.deep.equal(sorted.slice(n + 1, n + 11));
      expect(next === null).to.equal(n === 99_989);
    }
  });

  it("are paged from the newest on, while others come and the last one of a page leaves", async () => {
    t = await openEngine();
    const add = (id: string, diedMs: number) => t.redis.zadd(t.key("dead"), diedMs, id);
    // Two of each millisecond.
    const ids = Array.from({ length: 30 }, (_, n) => `t${String(n).padStart(2, "0")}`);
    for (const [n, id] of ids.entries()) await add(id, 1000 + Math.floor(n / 2));
    for (const limit of [1, 4, 10, 30]) {
      let late = 0;
      const { ids: seen } = await walk(async (after) => {
        if (after) {
          await add(`late${limit}-${late}`, 2000 + late);
          late += 1;
          await t.redis.zrem(t.key("dead"), after.id);
        }
        return t.engine.queues.page("dead", { queue: "jobs", after, limit, isNewestFirst: true, lastScore: 1999 });
      });
      expect(seen, String(limit)).to.deep.equal(ids.toReversed());
      for (const [n, id] of ids.entries()) await add(id, 1000 + Math.floor(n / 2));
    }
  });

  it("are filtered by the line key of keyed tasks", async () => {
    t = await openEngine({ settings: { keyedConcurrency: 1 } });
    for (const [id, key] of [
      ["a1", "a"],
      ["b1", "b"],
      ["a2", "a"],
    ] as const)
      await t.submit({ id, key });
    const of = async (key: string) => (await waiting({ key: nameOf(key) })).ids;
    expect([await of("a"), await of("b"), await of("c")]).to.deep.equal([["a1", "a2"], ["b1"], []]);
  });

  it("are filtered by the beginning of the id, caller, key, state and age", async () => {
    t = await openEngine();
    const long = "k".repeat(40);
    await t.submit({ id: "mail-1", caller: "ann", share: { key: "ann", weight: 1 } });
    await t.submit({ id: "mail-2", caller: "bob", share: { key: long, weight: 2 } });
    await t.submit({ id: "mile", caller: "ann" });
    const of = async (filter: Filter) => (await waiting(filter)).ids.sort();
    expect(await of({ prefix: "mail-" })).to.deep.equal(["mail-1", "mail-2"]);
    expect(await of({ prefix: "mail-", caller: "ann" })).to.deep.equal(["mail-1"]);
    expect(await of({ caller: "ann" })).to.deep.equal(["mail-1", "mile"]);
    expect(await of({ key: nameOf("ann") })).to.deep.equal(["mail-1"]);
    expect(await of({ key: nameOf(long) })).to.deep.equal(["mail-2"]);
    expect(await of({ states: ["running"] })).to.deep.equal([]);
    expect(await of({ ageMs: 60_000 })).to.deep.equal([]);
    await t.redis.hincrby(storedKey(t.keys.tagOfQueue("jobs"), "task", "mile"), TASK.created, -90_000);
    expect(await of({ ageMs: 60_000 })).to.deep.equal(["mile"]);
    expect(await of({ beforeMs: Date.now() - 60_000 })).to.deep.equal(["mile"]);
  });

  it("can be filtered by age although one record is damaged, which then counts as old", async () => {
    t = await openEngine();
    for (const id of ["new", "damaged"]) await t.submit({ id });
    await t.redis.hset(storedKey(t.keys.tag(0), "task", "damaged"), TASK.created, "yesterday");
    expect((await waiting({ ageMs: 60_000 })).ids).to.deep.equal(["damaged"]);
  });

  it("have the worker of a running task, and retrying tasks among the scheduled ones", async () => {
    t = await openEngine();
    await t.submit({ id: "a" });
    await t.submit({ id: "b" });
    await t.submit({ id: "later", delayMs: 60_000 });
    const [a] = await t.reserve(2, { worker: `host:1:${"w".repeat(8)}` });
    const list = async (index: "leases" | "scheduled", filter?: Filter) =>
      (await t.engine.queues.page(index, { queue: "jobs", after: null, limit: 10, filter })).entries;
    expect((await list("leases")).map(({ run }) => runOf(run).worker)).to.deep.equal(Array(2).fill("host:1:wwwwwwww"));
    await t.engine.leases.fail(
      { queue: "jobs", id: "a", fence: a?.fence ?? "" },
      failureOf("retry", 30_000),
      t.settings,
    );
    expect((await list("scheduled")).map(({ id }) => id)).to.deep.equal(["a", "later"]);
    expect((await list("scheduled", { states: ["retrying"] })).map(({ id }) => id)).to.deep.equal(["a"]);
    const filter = { prefix: "a", states: ["succeeded"] } as const;
    expect((await t.engine.queues.finished({ queue: "jobs", after: null, limit: 10, filter })).entries).to.deep.equal(
      [],
    );
  });

  it("are searched in bounded steps, however few tasks match", async () => {
    t = await openEngine();
    const ids = Array.from({ length: 2500 }, (_, n) => `t${n}`);
    for (let i = 0; i < ids.length; i += 100) {
      await Promise.all(ids.slice(i, i + 100).map((id) => t.submit({ id, caller: id === "t2400" ? "ann" : "bob" })));
    }
    expect(await waiting({ caller: "ann" })).to.deep.equal({ ids: ["t2400"], looked: Array(25).fill(100) });
    expect((await waiting({ caller: "bob" }, 200)).ids).to.have.length(2499);
  });

  describe("when something is done to all that match", () => {
    const step = (
      action: "cancel" | "retry" | "delete",
      page: (request: Parameters<TestEngine["engine"]["queues"]["finished"]>[0]) => Promise<Page>,
      filter: Filter,
      after: Parameters<typeof bulkStep>[1]["after"] = null,
    ) => bulkStep(t.engine, { action, queue: "jobs", filter, after, dryRun: false, byTime: action !== "cancel", page });

    it("does not change tasks that arrived after the first step", async () => {
      t = await openEngine();
      for (let n = 0; n < 150; n += 1) await t.submit({ id: `t${n}`, caller: "ann" });
      const page = (request: Parameters<TestEngine["engine"]["queues"]["finished"]>[0]) =>
        t.engine.queues.page("waiting", request);
      const first = await step("cancel", page, { caller: "ann" });
      expect(first).to.include({ matched: 100, done: 100 });
      await new Promise((resolve) => setTimeout(resolve, 5));
      await t.submit({ id: "new", caller: "ann" });
      const second = await step("cancel", page, { caller: "ann" }, first.next);
      expect(second).to.deep.include({ matched: 50, done: 50, next: null });
      expect((await t.look("new")).state).to.equal("waiting");
    });

    it("neither deletes a result that arrived meanwhile, nor cancels a task that was retried meanwhile", async () => {
      t = await openEngine({ settings: { attempts: 1 } });
      await t.submit({ id: "quick" });
      const meanwhile = await step(
        "cancel",
        async (request) => {
          const page = await t.engine.queues.page("waiting", request);
          const [task] = await t.reserve();
          await t.engine.leases.complete(
            { queue: "jobs", id: "quick", fence: task?.fence ?? "" },
            resultOf("ok"),
            t.settings,
          );
          return page;
        },
        {},
      );
      expect(meanwhile).to.include({ matched: 1, done: 0 });
      expect((await t.look("quick")).deleted).to.equal(false);

      await t.submit({ id: "dead" });
      const [task] = await t.reserve();
      await t.engine.leases.fail(
        { queue: "jobs", id: "dead", fence: task?.fence ?? "" },
        failureOf("retry"),
        t.settings,
      );
      const retried = await step(
        "delete",
        async (request) => {
          const page = await t.engine.queues.page("dead", request);
          await t.engine.call("retry", { id: "dead", queue: "jobs" });
          return page;
        },
        {},
      );
      expect(retried).to.include({ matched: 1, done: 0 });
      expect((await t.look("dead")).state).to.equal("waiting");
    });
  });
});
