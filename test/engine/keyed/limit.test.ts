import { expect } from "chai";
import type { QueueSettings } from "../../../src/engine/settings.ts";
import { verify } from "../../../src/engine/upkeep/verify.ts";
import { failureOf, openEngine, resultOf, type TestEngine } from "../../helpers/engine.ts";
import { type GivenSubmission, submissionOf } from "../../shared/submission.ts";

describe("limits of a caller", () => {
  let t: TestEngine;
  let taken: Map<string, { queue: string; id: string; fence: string }>;
  beforeEach(async () => {
    t = await openEngine({ settings: { attempts: 3, keyedConcurrency: 2, keyedWaiting: 3 } });
    taken = new Map();
  });
  afterEach(async () => {
    const { disagreeing } = await verify(t.redis, t.scripts, t.keys, { heal: false });
    await t.close();
    expect(disagreeing, "verify").to.deep.equal([]);
  });

  const submission = (id: string, given: GivenSubmission = {}) =>
    submissionOf(id, "jobs", '{"n":1}', { key: "ada", ...given });
  const submit = async (id: string, given: GivenSubmission = {}, settings: Partial<QueueSettings> = {}) =>
    await t.engine.submitter.submit(submission(id, given), { ...t.settings, ...settings });
  const verdicts = async (ids: readonly string[], given: GivenSubmission = {}) => {
    const all = await Promise.all(ids.map((id) => submit(id, given)));
    return all.map(({ verdict }) => verdict);
  };
  const start = async (count = 100) => {
    const tasks = await t.reserve(count);
    for (const { id, fence } of tasks) taken.set(id, { queue: "jobs", id, fence });
    return tasks.map(({ id }) => id);
  };
  const leaseOf = (id: string) => taken.get(id) ?? { queue: "jobs", id, fence: "1" };
  const complete = (id: string) => t.engine.leases.complete(leaseOf(id), resultOf(id), t.settings);
  const fail = (id: string, kind: "retry" | "later" | "give-up" = "retry") =>
    t.engine.leases.fail(leaseOf(id), failureOf(kind, 60_000), t.settings);
  const full = async (id = "more") => (await submit(id)).verdict === "too-many";

  it("accept as many tasks as may wait, and refuse more, of this caller only; a repetition is no further task", async () => {
    expect(await verdicts(["a1", "a2", "a3", "a4", "a5"])).to.deep.equal(["new", "new", "new", "too-many", "too-many"]);
    expect(await verdicts(["a1", "a2", "a3"])).to.deep.equal(["replay", "replay", "replay"]);
    expect(await verdicts(["b1"], { key: "ben" })).to.deep.equal(["new"]);
    expect(await verdicts(["n1", "n2", "n3", "n4"], { key: null })).to.deep.equal(["new", "new", "new", "new"]);
    const refused = await submit("a4");
    expect(refused).to.deep.include({ verdict: "too-many", state: null, index: null });
    expect(refused.reached).to.deep.equal({
      ...{ limit: 3, waiting: 3, running: 0 },
      first: { state: "waiting", index: 0, dueInMs: null, turn: { before: 0, ends: 0, limit: 2 } },
    });
    expect(await t.engine.inspector.inspect("a4", { result: false }), "nothing is stored").to.equal(null);
  });

  it("count what waits for a time or for another attempt, and then runs none of it", async () => {
    await submit("s1", { delayMs: 60_000 });
    await verdicts(["a1", "a2"]);
    expect(await full()).to.equal(true);
    expect(await start()).to.deep.equal(["a1", "a2"]);
    await fail("a1");
    expect(await verdicts(["a3", "a4"])).to.deep.equal(["new", "too-many"]);
    expect(await start(), "a task that waits for its retry does not run").to.deep.equal(["a3"]);
    await fail("a2", "later");
    expect(await full()).to.equal(true);
    const { reached } = await submit("more");
    expect(reached).to.deep.include({ waiting: 3, running: 1 });
    expect(reached?.first.state).to.equal("scheduled");
    expect(reached?.first.dueInMs, "the first that is due").to.be.within(1, 60_000);
    for (const id of ["s1", "a1", "a2"]) await t.makeDue(id);
    await t.engine.upkeep.tick(0);
    expect(await full(), "they wait in line now").to.equal(true);
    expect(await start()).to.deep.equal(["a1"]);
    expect((await t.look("s1")).held).to.equal(true);
    for (const id of ["a3", "a1"]) await complete(id);
    expect(await start()).to.deep.equal(["a2", "s1"]);
  });

  it("may be for running tasks only, or for waiting ones only", async () => {
    const running = { keyedConcurrency: 1, keyedWaiting: Number.POSITIVE_INFINITY };
    for (let n = 0; n < 5; n += 1) expect((await submit(`r${n}`, {}, running)).verdict).to.equal("new");
    expect(await start()).to.deep.equal(["r0"]);
    const waiting = { keyedConcurrency: 1_000_000_000, keyedWaiting: 2 };
    for (const id of ["w0", "w1"]) expect((await submit(id, { key: "ben" }, waiting)).verdict).to.equal("new");
    expect((await submit("w2", { key: "ben" }, waiting)).verdict).to.equal("too-many");
    expect(await start()).to.deep.equal(["r1", "r2", "r3", "r4", "w0", "w1"]);
  });

  it("say which of the tasks leaves first, of one call too, and of those that were moved", async () => {
    const all = ["a1", "a2", "a3", "a4"].map((id) => submission(id));
    const ends = await t.engine.submitter.submitAll(all, t.settings);
    const last = ends[3]?.status === "fulfilled" ? ends[3].value : undefined;
    expect(last?.reached?.first).to.deep.include({ state: "waiting", index: 0 });
    for (const id of ["b1", "b2", "b3"]) await submit(id, { key: "ben", delayMs: 60_000 });
    const leavesInMs = async () => {
      const { reached } = await submit("b4", { key: "ben" });
      return reached?.first.dueInMs;
    };
    expect(await leavesInMs()).to.be.within(1, 60_000);
    for (const id of ["b1", "b2", "b3"]) await t.engine.submitter.move({ id, queue: "jobs" }, { delayMs: 3_600_000 });
    expect(await leavesInMs()).to.be.within(60_001, 3_600_000);
    await t.engine.submitter.move({ id: "b2", queue: "jobs" }, { delayMs: 600_000 });
    expect(await leavesInMs()).to.be.within(60_001, 600_000);
  });

  it("change with the next submission, also from and to keyed lines and plain ones", async () => {
    const keyed = { keyedConcurrency: 2, keyedWaiting: undefined };
    for (const id of ["k1", "k2", "k3", "k4", "k5", "k6"]) await submit(id, {}, keyed);
    expect(await start()).to.deep.equal(["k1", "k2"]);
    expect(await full(), "what waited is counted").to.equal(true);
    await submit("b1", { key: "ben" });
    await fail("k1");
    expect((await submit("more")).reached, "from now on also between attempts").to.include({ waiting: 5, running: 1 });
    expect(await start()).to.deep.equal(["k3", "b1"]);
    expect((await submit("k7", {}, keyed)).verdict).to.equal("new");
    expect((await verify(t.redis, t.scripts, t.keys, { heal: false })).disagreeing).to.deep.equal([]);
    await t.makeDue("k1");
    await t.engine.upkeep.tick(0);
    for (const id of ["k2", "k3", "b1"]) await complete(id);
    for (let some = await start(); some.length > 0; some = await start()) for (const id of some) await complete(id);
    await submit("plain", { key: undefined }, { keyedConcurrency: undefined, keyedWaiting: undefined });
    expect(await start()).to.deep.equal(["plain"]);
  });
});
