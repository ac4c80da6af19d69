import { expect } from "chai";
import { type TakeRequest, takeOrWait } from "../../../src/engine/tasks/take.ts";
import { failureOf, openEngine, type TestEngine } from "../../helpers/engine.ts";
import { TASK } from "../../helpers/store/stored.ts";
import { eventually } from "../../shared/eventually.ts";

const never = new AbortController().signal;
/** Longer than any test waits: an answer that comes earlier is full. */
const LONG_MS = 60_000;

describe("a request for work that waits to be filled", () => {
  let t: TestEngine;
  afterEach(() => t.close());

  const ask = (given: Partial<TakeRequest> = {}) => {
    const request = { queue: "jobs", worker: "remote", reservation: "r", count: 3, leaseMs: 600_000, fillMs: LONG_MS };
    return takeOrWait(t.engine, { ...request, ...given }, Date.now(), never);
  };
  const counts = async () => {
    const [row] = await t.engine.queues.figures(["jobs"]);
    return [row?.snapshot.waiting, row?.snapshot.running];
  };

  it("is answered as soon as it has all; a repetition gets the same tasks", async () => {
    t = await openEngine();
    await t.submit({ id: "first" });
    const asked = ask();
    await eventually(async () => (await counts())[1] === 1);
    await t.submit({ id: "second" });
    await t.submit({ id: "third" });
    const { tasks } = await asked;
    expect(tasks.map(({ id }) => id)).to.have.members(["first", "second", "third"]);
    await t.submit({ id: "fourth" });
    const again = await ask();
    const fences = (of: typeof tasks) => of.map(({ id, fence }) => `${id} ${fence}`);
    expect(fences(again.tasks)).to.deep.equal(fences(tasks));
    expect(await counts()).to.deep.equal([1, 3]);
  });

  it("is answered with what it has when the time is over, at the latest when half of its lease is", async () => {
    t = await openEngine();
    for (const [n, given] of [{ fillMs: 30 }, { leaseMs: 1000 }].entries()) {
      await t.submit({ id: `only-${n}` });
      const { tasks } = await ask({ reservation: `r${n}`, ...given });
      expect(tasks.map(({ id }) => id)).to.deep.equal([`only-${n}`]);
    }
  });

  it("counts the time from when the oldest of its tasks joined the line", async () => {
    t = await openEngine();
    const [share, created] = [{ key: "a", weight: 1 }, TASK.created];
    const longAgo = Date.now() - LONG_MS;
    await t.submit({ id: "plain" });
    // The place in a plain line is the time, sixteen a millisecond.
    await t.redis.zincrby(t.key("waiting"), -16 * LONG_MS, "plain");
    expect((await ask()).tasks.map(({ id }) => id)).to.deep.equal(["plain"]);
    await t.submit({ id: "fair", share });
    await t.redis.hset(t.key("task", "fair"), created, longAgo);
    expect((await ask({ reservation: "r2" })).tasks.map(({ id }) => id)).to.deep.equal(["fair"]);
    // Neither a delay nor an earlier attempt is time in line.
    await t.submit({ id: "delayed", share, delayMs: LONG_MS });
    await t.redis.hset(t.key("task", "delayed"), created, longAgo);
    await t.makeDue("delayed");
    await t.engine.upkeep.tick(0);
    const [delayed] = await t.reserve();
    expect(delayed?.stoodMs).to.be.below(LONG_MS / 2);
    await t.engine.leases.fail(
      { queue: "jobs", id: "delayed", fence: delayed?.fence ?? "" },
      failureOf("retry"),
      t.settings,
    );
    await t.engine.upkeep.tick(0);
    await t.redis.hset(t.key("task", "delayed"), TASK.joined, longAgo);
    expect((await t.reserve())[0]).to.include({ attempt: 2, stoodMs: 0 });
  });

  it("hands back all its tasks if the worker has gone", async () => {
    t = await openEngine();
    await t.submit({ id: "first" });
    const asked = ask({ count: 2 });
    await eventually(async () => (await counts())[1] === 1);
    await t.submit({ id: "second" });
    const { handBack } = await asked;
    expect(await counts()).to.deep.equal([0, 2]);
    await handBack();
    expect(await counts()).to.deep.equal([2, 0]);
  });

  it("does not wait without a task", async () => {
    t = await openEngine();
    expect((await ask()).tasks).to.deep.equal([]);
  });
});
