import { expect } from "chai";
import { verify } from "../../../src/engine/upkeep/verify.ts";
import { failureOf, openEngine, resultOf, type TestEngine } from "../../helpers/engine.ts";
import { keysLike } from "../../helpers/store/scan.ts";
import { QUEUE } from "../../helpers/store/stored.ts";
import { type GivenSubmission, submissionOf } from "../../shared/submission.ts";

describe("a keyed line", () => {
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

  it("lets the next of many keys start in the order of arrival when they are freed together", async () => {
    const [first, second, third] = [0, 1, 2].map((turn) => Array.from({ length: 90 }, (_, n) => `k${n}-${turn}`));
    if (!first || !second || !third) throw new Error("no names");
    await Promise.all(
      [...first, ...second, ...third].map((id) => {
        const key = id.split("-")[0] ?? "";
        return join(id, key);
      }),
    );
    expect(await start()).to.deep.equal(first);
    await Promise.all(first.map(complete));
    expect(await start(60)).to.deep.equal(second.slice(0, 60));
    await Promise.all(second.slice(0, 60).map(complete));
    expect(await start(30)).to.deep.equal(second.slice(60));
    expect(await start()).to.deep.equal(third.slice(0, 60));
  });

  it("is proven and repaired by a verification, whatever is wrong with it", async () => {
    const limits = { ...t.settings, attempts: 3, keyedWaiting: 4 };
    for (const id of ["retries", "runs", "waits", "held"]) {
      await join(id, "ada", limits);
      if (id !== "retries") continue;
      await start();
      await t.engine.leases.fail(leaseOf(id), failureOf("retry", 60_000), limits);
    }
    expect(await start()).to.deep.equal(["runs"]);
    await join("later", "ada", limits, { delayMs: 60_000 });
    await joinAll("ben", limits, "other", "behind");
    await join("none", null, limits);
    const counts = async () => ({ ...(await join("more", "ada", limits)).reached, first: undefined });
    const right = await counts();
    expect(right).to.include({ limit: 4, waiting: 4, running: 1 });
    expect(await wrong(false)).to.deep.equal([]);
    const [ada, startable] = [t.key("keyLine", "jobs =ada"), t.key("startable")];
    const damages: readonly (readonly [string, () => Promise<unknown>])[] = [
      ...["retries", "runs", "waits", "held", "later"].map((id) => [id, () => t.redis.zrem(ada, id)] as const),
      ...["retries", "waits", "held", "later"].map((id) => [id, () => t.redis.zadd(ada, -1, id)] as const),
      ...["runs", "waits", "other", "none"].map((id) => [id, () => t.redis.zadd(ada, 2 ** 50, id)] as const),
      ...["later", "retries", "gone"].map((id) => [id, () => t.redis.zadd(ada, 7, id)] as const),
      ...["later", "retries"].map((id) => [id, () => t.redis.zrem(t.key("scheduled"), id)] as const),
      ["gone", () => t.redis.zadd(ada, -1, "gone")],
      ["waits", () => t.redis.del(ada)],
      ["behind", () => t.redis.del(t.key("keyLine", "jobs =ben"))],
      ["other", () => t.redis.zrem(startable, "other")],
      ...["behind", "gone"].map((id) => [id, () => t.redis.zadd(startable, 5, id)] as const),
      ["none", () => t.redis.del(startable)],
    ];
    for (const [n, [id, damage]] of damages.entries()) {
      await damage();
      expect(await wrong(false), `damage ${n}`).to.include(id);
      await wrong(true);
      // What was healed first may have been made wrong by what was healed later.
      await wrong(true);
      expect(await wrong(false), `after damage ${n}`).to.deep.equal([]);
      expect(await counts(), `after damage ${n}`).to.deep.equal(right);
      expect(await t.redis.zrange(startable, "0", "-1"), `after damage ${n}`).to.have.members(["other", "none"]);
    }
  });

  const submissionLike = (id: string, given: GivenSubmission = {}) => submissionOf(id, "jobs", '{"n":2}', given);
});
