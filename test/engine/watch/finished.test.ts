import { expect } from "chai";
import { SHARED } from "../../../src/store/constants.ts";
import { failureOf, openEngine, resultOf, type TestEngine } from "../../helpers/engine.ts";
import { storedKey } from "../../helpers/store/stored.ts";
import { eventually } from "../../shared/eventually.ts";

describe("the latest outcomes of a queue", () => {
  let t: TestEngine;
  beforeEach(async () => {
    t = await openEngine({ settings: { attempts: 1 } });
  });
  afterEach(() => t.close());

  /** Submits and completes tasks, one after the other, each in a millisecond of its own: the order of those that share one is not promised. */
  const finish = async (ids: readonly string[]) => {
    for (const id of ids) {
      await t.submit({ id });
      await t.engine.leases.complete(await take(id), resultOf(id), t.settings);
      await clockMovesOn();
    }
  };
  /** The next millisecond of the store's clock. */
  const clockMovesOn = async () => {
    const now = async () => {
      const [seconds, micros] = await t.redis.time();
      return Number(seconds) * 1000 + Math.floor(Number(micros) / 1000);
    };
    const before = await now();
    await eventually(async () => (await now()) > before);
  };
  let taken = 0;
  const take = async (id: string) => {
    taken += 1;
    const request = {
      queue: "jobs",
      worker: "w",
      reservation: `r${taken}`,
      count: 1,
      leaseMs: 60_000,
      rate: undefined,
    };
    const { tasks } = await t.engine.leases.reserve(request);
    return { queue: "jobs", id, fence: tasks[0]?.fence ?? "" };
  };
  /** Page by page. */
  const walk = async (limit: number) => {
    const ids: string[] = [];
    for (let after = null; ; ) {
      const { entries, next } = await t.engine.queues.finished({ queue: "jobs", after, limit });
      ids.push(...entries.map(({ id }) => id));
      after = next;
      if (after === null) return ids;
    }
  };

  it("are those that succeeded, failed, died or were canceled, the newest first", async () => {
    await finish(["succeeded"]);
    for (const kind of ["give-up", "retry"] as const) {
      await t.submit({ id: kind });
      await t.engine.leases.fail(await take(kind), failureOf(kind), t.settings);
    }
    await t.submit({ id: "canceled" });
    await t.engine.call("cancel", { id: "canceled", queue: "jobs" });
    await t.submit({ id: "waiting" });
    const all = ["canceled", "retry", "give-up", "succeeded"];
    expect(await walk(10)).to.deep.equal(all);
    expect(await walk(1)).to.deep.equal(all);
  });

  it("leave out tasks that were deleted, have gone from the store, or ran again", async () => {
    await finish(["kept", "deleted", "gone"]);
    await t.submit({ id: "dead" });
    await t.engine.leases.fail(await take("dead"), failureOf("retry"), t.settings);
    await t.engine.call("cancel", { id: "deleted", queue: "jobs" });
    await t.redis.unlink(storedKey(t.keys.tag(0), "task", "gone"));
    expect(await walk(1)).to.deep.equal(["dead", "kept"]);
    await t.engine.call("retry", { id: "dead", queue: "jobs" });
    expect(await walk(10)).to.deep.equal(["kept"]);
    await t.engine.leases.complete(await take("dead"), resultOf("at last"), t.settings);
    expect(await walk(10)).to.deep.equal(["dead", "kept"]);
  });

  it("continue after a task that has left the list meanwhile", async () => {
    // Of what ended in the same millisecond as one that is gone, nothing is known.
    await finish(["a", "b", "c"]);
    const { next: newest } = await t.engine.queues.finished({ queue: "jobs", after: null, limit: 1 });
    await t.redis.lpop(storedKey(t.keys.tag(0), "finished"));
    const { entries } = await t.engine.queues.finished({ queue: "jobs", after: newest, limit: 10 });
    expect(entries.map(({ id }) => id)).to.deep.equal(["b", "a"]);
  });

  it(`are ${SHARED.maxFinished} at most`, async () => {
    const ids = Array.from({ length: SHARED.maxFinished + 300 }, (_, n) => `t${n}`);
    for (let i = 0; i < ids.length; i += 100) {
      const some = ids.slice(i, i + 100);
      await Promise.all(some.map((id) => t.submit({ id })));
      await Promise.all(some.map((id) => t.engine.call("cancel", { id, queue: "jobs" })));
    }
    expect(await t.redis.llen(t.key("finished"))).to.be.within(SHARED.maxFinished, SHARED.maxFinished + 100);
    const seen = await walk(200);
    expect(seen).to.have.length(SHARED.maxFinished);
    expect(new Set(seen).size).to.equal(SHARED.maxFinished);
    expect(seen).not.to.include("t0");
  });
});
