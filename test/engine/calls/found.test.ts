import { expect } from "chai";
import { verify } from "../../../src/engine/upkeep/verify.ts";
import { Wait } from "../../../src/engine/watch/wait.ts";
import { failureOf, openEngine, resultOf, type TestEngine } from "../../helpers/engine.ts";
import { storedKey } from "../../helpers/store/stored.ts";
import { submissionOf } from "../../shared/submission.ts";

const PARTITIONS = 3;
const SETTINGS = { attempts: 1 };

describe("a task of a queue over several partitions", () => {
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

  it("is found by its id in every process: to inspect, cancel, replace, fail, retry, write and delete", async () => {
    const all = ids("x", 12);
    const long = JSON.stringify("y".repeat(50_000));
    for (const id of all) await t.submit({ id, input: long });
    for (const [n, id] of all.entries()) expect(await other.look(id)).to.include({ state: "waiting", index: n });
    expect(await other.engine.submitter.update(submissionLike("x0"), t.settings)).to.equal("updated");
    expect(await other.engine.call("cancel", { id: "x1", queue: "jobs" })).to.equal("canceled");
    const { engine } = other;
    for (const id of await start()) {
      const inputBytes = id === "x0" ? 7 : long.length;
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

  it("has its id alone, whatever queue another is submitted to", async () => {
    const plain = { ...t.settings, queue: "plain" };
    const to = (engine: TestEngine, queue: string, id: string, input: string) => {
      const submission = { ...submissionLike(id), queue, input };
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

  it("ends for callers that wait for it in every process", async () => {
    for (const id of ids("w", 6)) {
      const wait = new Wait({ id, queue: "jobs" }, other.engine);
      await other.engine.submitter.submit(submissionLike(id), t.settings, true);
      await start();
      await complete(id);
      const { end } = await wait.outcome(Date.now() + 60_000, true);
      expect(end?.state, id).to.equal("succeeded");
      wait.stop();
    }
  });

  it("is found again after a verification, if its id led nowhere", async () => {
    const [id = ""] = ids("l", 9).filter((one) => t.keys.partitionOf(one) !== home);
    await t.submit({ id });
    const own = t.keys.tag(t.keys.partitionOf(id));
    await t.redis.unlink(storedKey(own, "task", id));
    const fresh = await anotherProcess();
    expect(await fresh.engine.inspector.inspect(id, { result: false })).to.equal(null);
    expect((await verify(t.redis, t.scripts, t.keys, { heal: true })).disagreeing).to.deep.equal([id]);
    expect(await fresh.look(id)).to.include({ state: "waiting", index: 0 });
  });

  const submissionLike = (id: string) => submissionOf(id, "jobs", '{"n":2}');
});
