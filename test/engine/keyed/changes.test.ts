import { expect } from "chai";
import { verify } from "../../../src/engine/maintenance/verify.ts";
import { failureOf, openEngine, resultOf, type TestEngine } from "../../helpers/engine.ts";
import { storeKind } from "../../helpers/store/run-store.ts";
import { keysLike } from "../../helpers/store/scan.ts";
import { QUEUE, storedKey } from "../../helpers/store/stored.ts";
import { type GivenSubmission, submissionOf } from "../../shared/submission.ts";

const KEYS = 100_000;

describe("a keyed line that changes", () => {
  let t: TestEngine;
  let taken: Map<string, { queue: string; id: string; fence: string }>;
  beforeEach(async () => {
    t = await openEngine({ settings: { attempts: 1, keyedConcurrency: 1 } });
    taken = new Map();
  });
  afterEach(() => t.close());

  const plain = () => ({ ...t.settings, keyedConcurrency: undefined });
  const withLimit = (keyedConcurrency: number) => ({ ...t.settings, keyedConcurrency });
  const join = (id: string, key: string | null, settings = t.settings, options: GivenSubmission = {}) =>
    t.engine.submitter.submit(submissionLike(id, { key, ...options }), settings);
  const joinAll = async (key: string | null, settings: typeof t.settings, ...ids: string[]) => {
    for (const id of ids) await join(id, key, settings);
  };
  const start = async (count = 100) => {
    const tasks = await t.reserve(count);
    for (const { id, fence } of tasks) taken.set(id, { queue: "jobs", id, fence });
    return tasks.map(({ id }) => id);
  };
  const leaseOf = (id: string) => taken.get(id) ?? { queue: "jobs", id, fence: "1" };
  const complete = (id: string) => t.engine.leases.complete(leaseOf(id), resultOf(id), t.settings);
  const wrong = async (heal: boolean) => (await verify(t.redis, t.scripts, t.keys, { heal })).disagreeing;

  it("starts all tasks that waited before it was keyed, and holds keys from then on", async () => {
    const before = Array.from({ length: 450 }, (_, n) => `plain${n}`);
    await Promise.all(before.map((id) => t.engine.submitter.submit(submissionLike(id), plain())));
    await joinAll("a", t.settings, "a1", "a2");
    const started: string[] = [];
    for (let some = await start(); some.length > 0 || started.length === 0; some = await start()) started.push(...some);
    expect(started).to.deep.equal([...before, "a1"]);
    await t.engine.call("release", { ...leaseOf("plain3") });
    expect(await start()).to.deep.equal(["plain3"]);
    expect(await wrong(false)).to.deep.equal([]);
  });

  it("takes the place of a task that waited before it was keyed for its arrival, once the task gets a key", async () => {
    for (const id of ["z1", "b2"]) await t.engine.submitter.submit(submissionLike(id), plain());
    await join("c3", "a");
    for (const id of ["b2", "z1"]) await t.engine.submitter.update({ ...submissionLike(id), key: "a" }, t.settings);
    for (const id of ["z1", "b2", "c3"]) {
      expect(await start()).to.deep.equal([id]);
      await complete(id);
    }
  });

  it("decides also on as many tasks at one place as one call decides on", async () => {
    const ids = Array.from({ length: 200 }, (_, n) => `k${n}`);
    await Promise.all(ids.map((id) => join(id, id)));
    const place = (await t.redis.zscore(t.key("waiting"), "k0")) ?? "";
    for (const line of [t.key("waiting"), t.key("startable")])
      await t.redis.zadd(line, "XX", ...ids.flatMap((id) => [place, id]));
    await join("last", "last", withLimit(2));
    const started: string[] = [];
    for (let call = 0; call < 6; call += 1) {
      started.push(...(await start(300)));
      expect(await wrong(false)).to.deep.equal([]);
    }
    expect(started).to.have.members([...ids, "last"]);
    expect(await t.redis.hget(t.key("queue"), QUEUE.rekey), "left to decide").to.equal(null);
  });

  it("is verified as far as it is decided who may start, also at the place where that ends", async () => {
    const ids = Array.from({ length: 200 }, (_, n) => `k${n}`);
    await Promise.all(ids.map((id) => join(id, id)));
    const place = (await t.redis.zscore(t.key("waiting"), "k0")) ?? "";
    for (const line of [t.key("waiting"), t.key("startable")])
      await t.redis.zadd(line, "XX", ...ids.flatMap((id) => [place, id]));
    await join("last", "last", withLimit(2));
    // One call decides on the tasks of that place, the next finds that it has decided on all of them.
    for (let call = 0; call < 2; call += 1) expect(await start()).to.deep.equal([]);
    expect(await t.redis.hget(t.key("queue"), QUEUE.rekey), "the rest is undecided").to.equal(`(${place}`);
    await t.redis.zrem(t.key("startable"), "k0");
    expect(await wrong(true)).to.deep.equal(["k0"]);
    expect(await wrong(false)).to.deep.equal([]);
    expect(await t.redis.zscore(t.key("startable"), "k0")).to.equal(place);
  });

  it("asks its workers to come again while it is undecided who may start", async () => {
    await Promise.all(Array.from({ length: 250 }, (_, n) => join(`a${n}`, "a")));
    await join("last", "a", withLimit(2));
    const request = { queue: "jobs", worker: "w1", count: 2, leaseMs: 60_000, rate: undefined };
    const first = await t.engine.leases.reserve({ ...request, reservation: "r1" });
    expect(first).to.deep.include({ waiting: 1 });
    expect(first.tasks.map(({ id }) => id)).to.deep.equal(["a0", "a1"]);
    const second = await t.engine.leases.reserve({ ...request, reservation: "r2" });
    expect(second).to.deep.include({ tasks: [], waiting: 0 });
    expect(await wrong(false)).to.deep.equal([]);
  });

  it("lets more of a key start when its concurrency was raised, and fewer when it was lowered", async () => {
    await joinAll("a", t.settings, "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8");
    expect(await start()).to.deep.equal(["a1"]);
    await join("b1", "b", withLimit(3));
    expect(await start()).to.deep.equal(["a2", "a3", "b1"]);
    await join("b2", "b", withLimit(1));
    expect(await start()).to.deep.equal([]);
    for (const id of ["a1", "a3", "b1"]) await complete(id);
    expect(await start()).to.deep.equal(["b2"]);
    await complete("a2");
    expect(await start()).to.deep.equal(["a4"]);
    expect(await wrong(false)).to.deep.equal([]);
  });

  it("starts no more tasks than a lowered concurrency allows, however many were allowed to start before", async () => {
    const others = Array.from({ length: 250 }, (_, n) => `x${n}`);
    await Promise.all(others.map((id) => join(id, "x")));
    await joinAll("a", withLimit(3), "a1", "a2", "a3", "a4");
    await join("b1", "b", withLimit(1));
    const started: string[] = [];
    for (let some = await start(); some.length > 0; some = await start()) started.push(...some);
    expect(started).to.deep.equal(["x0", "a1", "b1"]);
    expect(await wrong(false)).to.deep.equal([]);
  });

  it("is a plain line again once it is empty, and until then takes no new keys", async () => {
    await joinAll("a", t.settings, "a1", "a2");
    await t.engine.submitter.submit(submissionLike("n1"), plain());
    expect(await start()).to.deep.equal(["a1", "n1"]);
    await complete("a1");
    await complete("n1");
    expect(await start()).to.deep.equal(["a2"]);
    await complete("a2");
    await t.engine.submitter.submit(submissionLike("n2"), plain());
    expect(await t.redis.hget(t.key("queue"), QUEUE.keyed)).to.equal(null);
    expect(await start()).to.deep.equal(["n2"]);
    expect(await keysLike(t.redis, `${t.keys.tag(0)}p*:*`)).to.deep.equal([]);
  });

  it("may be fair: keys take turns, and a task that waits for its key is passed over", async () => {
    const share = (key: string) => ({ share: { key, weight: 1 } });
    for (let n = 0; n < 4; n += 1) await join(`a${n}`, "same", t.settings, share("A"));
    for (let n = 0; n < 3; n += 1) await join(`b${n}`, null, t.settings, share("B"));
    await join("c0", "same", t.settings, share("C"));
    expect(await start(2)).to.deep.equal(["a0", "b0"]);
    expect(await start()).to.deep.equal(["b1", "b2"]);
    await complete("a0");
    expect(await start(), "by arrival within the key").to.deep.equal(["a1"]);
    await t.engine.leases.fail(leaseOf("a1"), failureOf("retry"), t.settings);
    expect(await start()).to.deep.equal(["a2"]);
    await t.engine.call("cancel", { id: "a3", queue: "jobs" });
    await complete("a2");
    expect(await start()).to.deep.equal(["c0"]);
    expect(await wrong(false)).to.deep.equal([]);
  });

  it("is healed by a verification, whatever is wrong with it", async () => {
    await joinAll("a", t.settings, "a1", "a2", "a3");
    await joinAll("b", t.settings, "b1", "b2");
    await join("n1", null);
    await start(1);
    const line = `${t.key("keyLine", "jobs")} =a`;
    const [startable, lineOfB] = [t.key("startable"), `${t.key("keyLine", "jobs")} =b`];
    const damages: readonly (() => Promise<unknown>)[] = [
      () => t.redis.zrem(startable, "b1"),
      () => t.redis.zadd(startable, "5", "b2"),
      () => t.redis.zadd(startable, "5", "gone"),
      () => t.redis.del(startable),
      () => t.redis.del(line),
      () => t.redis.zrem(line, "a1"),
      () => t.redis.zadd(line, "1", "a1"),
      () => t.redis.zadd(line, "-1", "gone"),
      () => t.redis.zadd(lineOfB, "7", "n1"),
      () => t.redis.del(lineOfB),
    ];
    for (const [n, damage] of damages.entries()) {
      await damage();
      expect(await wrong(true), `damage ${n}`).to.not.deep.equal([]);
      // What was healed first may have been made wrong by what was healed later.
      await wrong(true);
      expect(await wrong(false), `after damage ${n}`).to.deep.equal([]);
      expect(await t.redis.zrange(startable, "0", "-1"), `after damage ${n}`).to.have.members(["b1", "n1"]);
    }
    await complete("a1");
    expect(await start()).to.have.members(["b1", "n1", "a2"]);
  });

  it("decides once if several calls race to end a task", async () => {
    for (let round = 0; round < 20; round += 1) {
      const ids = [`r${round}-1`, `r${round}-2`, `r${round}-3`];
      await joinAll("race", t.settings, ...ids);
      const [first = "", second = ""] = ids;
      expect(await start()).to.deep.equal([first]);
      await Promise.all([
        complete(first),
        t.engine.call("cancel", { id: first, queue: "jobs" }),
        t.engine.leases.fail(leaseOf(first), failureOf("give-up"), t.settings),
        t.engine.call("release", { ...leaseOf(first) }),
        t.engine.call("cancel", { id: second, queue: "jobs" }),
      ]);
      const left = await start();
      expect(left, `round ${round}`).to.have.length(1);
      for (let next = left; next.length > 0; next = await start()) {
        expect(next).to.have.length(1);
        await complete(next[0] ?? "");
      }
      expect(await wrong(false)).to.deep.equal([]);
    }
  });

  it("is equally fast for each of a hundred thousand keys, and keeps nothing of those that are done", async () => {
    // The embedded store runs the same scripts, but takes several times as long.
    const keys = storeKind() === "embedded" ? KEYS / 10 : KEYS;
    const ids = (from: number, count: number) => Array.from({ length: count }, (_, n) => from + n);
    for (let from = 0; from < keys; from += 5000) {
      await Promise.all(ids(from, 5000).map((n) => join(`k${n}`, `key${n}`)));
    }
    // One key with many tasks holds up no other.
    for (let from = 0; from < 5000; from += 1000)
      await Promise.all(ids(from, 1000).map((n) => join(`busy${n}`, "busy")));
    let started = 0;
    for (let some = await start(); some.length > 0; some = await start()) {
      started += some.length;
      await Promise.all(some.filter((id) => !id.startsWith("busy")).map(complete));
      for (const id of some) if (!id.startsWith("busy")) taken.delete(id);
    }
    expect(started).to.equal(keys + 1);
    expect(await t.redis.zcard(t.key("waiting"))).to.equal(4999);
    expect((await keysLike(t.redis, storedKey(t.keys.tag(0), "keyLine", "*"))).length).to.equal(1);
  }).timeout(240_000);

  const submissionLike = (id: string, given: GivenSubmission = {}) => submissionOf(id, "jobs", '{"n":2}', given);
});
