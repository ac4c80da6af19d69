import { expect } from "chai";
import { verify } from "../../../src/engine/maintenance/verify.ts";
import { Wait } from "../../../src/engine/watching/wait.ts";
import { failureOf, openEngine, resultOf, type TestEngine } from "../../helpers/engine.ts";
import { storedKey } from "../../helpers/store/stored.ts";
import { submissionOf } from "../../shared/submission.ts";

const PARTITIONS = 3;
const SETTINGS = { attempts: 1, keyedConcurrency: 1 };

describe("a keyed queue over several partitions", () => {
  let t: TestEngine;
  /** Other processes on the same store. */
  let others: TestEngine[];
  let other: TestEngine;
  let home: number;
  let taken: Map<string, { queue: string; id: string; fence: string }>;
  beforeEach(async () => {
    t = await openEngine({ partitions: PARTITIONS, settings: SETTINGS });
    others = [];
    other = await anotherProcess();
    home = t.keys.partitionOf("jobs");
    taken = new Map();
  });
  afterEach(async () => {
    const { disagreeing } = await verify(t.redis, t.scripts, t.keys, { heal: false });
    for (const one of [...others, t]) await one.close();
    expect(disagreeing, "verify").to.deep.equal([]);
  });

  const anotherProcess = async () => {
    const opened = await openEngine({ partitions: PARTITIONS, settings: SETTINGS, prefix: t.keys.prefix });
    others.push(opened);
    return opened;
  };
  let serial = 0;
  const start = async (count = 100, engine = t.engine) => {
    serial += 1;
    const request = { queue: "jobs", worker: "w", reservation: `r${serial}`, count, leaseMs: 15_000, rate: undefined };
    const { tasks } = await engine.leases.reserve(request);
    for (const { id, fence } of tasks) taken.set(id, { queue: "jobs", id, fence });
    return tasks.map(({ id }) => id);
  };
  const lease = (id: string) => taken.get(id) ?? { queue: "jobs", id, fence: "1" };
  const complete = (id: string, engine = t.engine) => engine.leases.complete(lease(id), resultOf(id), t.settings);
  /** Ids of which each partition is that of some. */
  const ids = (name: string, count: number) => Array.from({ length: count }, (_, n) => `${name}${n}`);
  const pointers = async () => {
    const counts = await Promise.all(t.keys.tags.map((tag) => t.redis.zcard(storedKey(tag, "pointers"))));
    return counts.reduce((sum, count) => sum + count, 0);
  };

  it("runs the tasks of a key one at a time, in the order in which they were submitted together", async () => {
    const all = ids("a", 30);
    expect(new Set(all.map((id) => t.keys.partitionOf(id))).size).to.equal(PARTITIONS);
    const ends = await t.engine.submitter.submitAll(
      all.map((id) => submissionOf(id, "jobs", "1", { key: "a" })),
      t.settings,
    );
    const indexes = ends.map((end) => (end.status === "fulfilled" ? end.value.index : end.reason));
    expect(indexes).to.deep.equal(all.map((_, n) => n));
    await other.submit({ id: "b", key: "b" });
    expect(await start()).to.deep.equal(["a0", "b"]);
    for (const [n, id] of all.entries()) {
      expect(await complete(id, n % 2 === 0 ? t.engine : other.engine)).to.equal("done");
      expect(await start(100, n % 3 === 0 ? other.engine : t.engine)).to.deep.equal(all.slice(n + 1, n + 2));
    }
  });

  it("finds a task by its id in every process: to inspect, cancel, replace, fail, retry, write and delete", async () => {
    const all = ids("x", 12);
    const long = JSON.stringify("y".repeat(50_000));
    for (const id of all) await t.submit({ id, key: id, input: long });
    for (const [n, id] of all.entries()) expect(await other.look(id)).to.include({ state: "waiting", index: n });
    const replaced = { ...submissionLike("x0"), key: "x0" };
    expect(await other.engine.submitter.update(replaced, t.settings)).to.equal("updated");
    expect(await other.engine.call("cancel", { id: "x1", queue: "jobs" })).to.equal("canceled");
    const { engine } = other;
    for (const id of await start()) {
      const { inputBytes } = { inputBytes: id === "x0" ? 7 : long.length };
      const input = await engine.values.inputOf({ id, input: null, inputBytes }, "jobs");
      if (id !== "x0") expect(input?.length, id).to.equal(long.length);
      expect(await engine.leases.renew(lease(id), 15_000)).to.equal("ok");
      expect(await engine.steps.keep(lease(id), { name: "s", value: "1", undo: false }, 1e6)).to.equal("ok");
      expect((await engine.steps.all(lease(id)))?.size).to.equal(1);
      expect(await engine.outputs.write(lease(id), ["1"], { maxBytes: 100 })).to.equal(1);
    }
    const writer = await anotherProcess();
    for (const id of all.slice(2))
      expect(await writer.engine.outputs.write(lease(id), ["2"], { maxBytes: 100 })).to.equal(1);
    const third = await anotherProcess();
    for (const id of all.slice(2))
      expect((await third.engine.outputs.read({ id, queue: "jobs" }, 0)).total, id).to.equal(2);
    const fourth = await anotherProcess();
    for (const id of all.slice(2)) {
      expect(await fourth.engine.leases.fail(lease(id), failureOf("retry"), t.settings), id).to.equal("dead");
    }
    const fifth = await anotherProcess();
    expect(await fifth.engine.call("retry", { id: "x2", queue: "jobs" })).to.equal("waiting");
    expect((await fifth.engine.queues.page("dead", { queue: "jobs", after: null, limit: 100 })).entries).to.have.length(
      9,
    );
    expect(await (await anotherProcess()).engine.deadLetters.retryAll("jobs")).to.equal(9);
    expect(await (await anotherProcess()).engine.call("cancel", { id: "x3", queue: "jobs" })).to.equal("canceled");
  });

  it("has one task of an id, whatever queue it is submitted to", async () => {
    const plain = { ...t.settings, queue: "plain", keyedConcurrency: undefined };
    const to = (engine: TestEngine, queue: string, id: string, input: string) => {
      const submission = { ...submissionLike(id), queue, input, ...(queue === "jobs" && { key: "k" }) };
      return engine.engine.submitter
        .submit(submission, queue === "jobs" ? t.settings : plain)
        .then(({ verdict }) => verdict);
    };
    for (const id of ids("one", 9)) {
      expect(await to(t, "jobs", id, "1")).to.equal("new");
      expect(await to(other, "jobs", id, "1")).to.equal("replay");
      expect(await to(other, "jobs", id, "2")).to.equal("conflict");
      expect(await to(other, "plain", id, "1")).to.equal("elsewhere");
    }
    for (const id of ids("two", 9)) {
      expect(await to(t, "plain", id, "1")).to.equal("new");
      expect(await to(other, "jobs", id, "1")).to.equal("elsewhere");
    }
    for (const id of ids("three", 20)) {
      const verdicts = await Promise.all([to(t, "jobs", id, "1"), to(other, "plain", id, "1")]);
      expect(verdicts.sort()).to.deep.equal(["elsewhere", "new"]);
    }
  });

  it("finds tasks that were keyed when they are submitted again without keys, together or alone", async () => {
    const all = ids("m", 30);
    await t.engine.submitter.submitAll(
      all.slice(0, 15).map((id) => ({ ...submissionLike(id), key: "k" })),
      t.settings,
    );
    const plain = { ...t.settings, keyedConcurrency: undefined };
    const ends = await other.engine.submitter.submitAll(all.map(submissionLike), plain);
    const verdicts = ends.map((end) => (end.status === "fulfilled" ? end.value.verdict : end.reason));
    expect(verdicts).to.deep.equal(all.map((_, n) => (n < 15 ? "replay" : "new")));
    const alone = await Promise.all(all.map((id) => other.engine.submitter.submit(submissionLike(id), plain)));
    expect(alone.map(({ verdict, state }) => `${verdict} ${state}`)).to.deep.equal(all.map(() => "replay waiting"));
  });

  it("answers callers that wait for the end of a task, in every process", async () => {
    for (const id of ids("w", 6)) {
      const wait = new Wait({ id, queue: "jobs" }, other.engine);
      await other.engine.submitter.submit({ ...submissionLike(id), key: null }, t.settings, true);
      await start();
      await complete(id);
      const { end } = await wait.outcome(Date.now() + 1500, true);
      expect(end?.state, id).to.equal("succeeded");
      wait.stop();
    }
  });

  it("counts all tasks against the limit of the queue, and stores nothing of refused ones", async () => {
    const settings = { ...t.settings, maxWaiting: 4 };
    const verdicts = [];
    for (const id of ids("m", 6)) {
      verdicts.push((await t.engine.submitter.submit({ ...submissionLike(id), key: "k" }, settings)).verdict);
    }
    expect(verdicts).to.deep.equal(["new", "new", "new", "new", "full", "full"]);
    expect(await other.engine.inspector.inspect("m5", { result: false })).to.equal(null);
    expect((await t.submit({ id: "d", key: "k", dryRun: true })).index).to.equal(4);
    expect((await t.submit({ id: "l", key: "k", maxIndex: 3 })).verdict).to.equal("long");
  });

  it("deletes the pointers to tasks that have gone, and only those", async () => {
    const all = ids("g", 9).filter((id) => t.keys.partitionOf(id) !== home);
    for (const id of all) await t.submit({ id, key: "k" });
    expect(await pointers()).to.equal(all.length);
    const [gone = "", ...left] = all;
    await t.redis.unlink(storedKey(t.keys.tag(home), "task", gone));
    await t.redis.zrem(storedKey(t.keys.tag(home), "waiting"), gone);
    await t.redis.zrem(storedKey(t.keys.tag(home), "startable"), gone);
    await t.redis.zrem(storedKey(t.keys.tag(home), "keyLine", "jobs =k"), gone);
    const due = async () => {
      for (const [partition, tag] of t.keys.tags.entries()) {
        for (const id of all) await t.redis.zadd(storedKey(tag, "pointers"), "XX", 1, id);
        await t.engine.maintenance.checkPointers(partition);
      }
    };
    await due();
    expect(await pointers()).to.equal(left.length);
    for (const id of left) expect(await other.look(id)).to.include({ state: "waiting" });
    expect((await t.submit({ id: gone, key: "k" })).verdict).to.equal("new");
    expect(await other.look(gone)).to.include({ state: "waiting" });
    await verify(t.redis, t.scripts, t.keys, { heal: true });
  });

  it("is verified: a task that is not found by its id is found again", async () => {
    const [id = ""] = ids("l", 9).filter((one) => t.keys.partitionOf(one) !== home);
    await t.submit({ id, key: "k" });
    const own = t.keys.tag(t.keys.partitionOf(id));
    await t.redis.unlink(storedKey(own, "task", id));
    const fresh = await anotherProcess();
    expect(await fresh.engine.inspector.inspect(id, { result: false })).to.equal(null);
    expect((await verify(t.redis, t.scripts, t.keys, { heal: true })).disagreeing).to.deep.equal([id]);
    expect(await fresh.look(id)).to.include({ state: "waiting", index: 0 });
  });

  const submissionLike = (id: string) => submissionOf(id, "jobs", '{"n":2}');
});
