import { expect } from "chai";
import { Wait } from "../../../src/engine/watch/wait.ts";
import { isCluster, mastersOf } from "../../../src/store/connection.ts";
import { SHARED } from "../../../src/store/constants.ts";
import type { Notice } from "../../../src/store/task/notices.ts";
import { failureOf, openEngine, resultOf, type TestEngine } from "../../helpers/engine.ts";
import { storedKey, TASK } from "../../helpers/store/stored.ts";
import { eventually } from "../../shared/eventually.ts";
import { submissionOf } from "../../shared/submission.ts";

const LATER = () => Date.now() + 60_000;

describe("notices", () => {
  /** Engines on the same keys: as many processes. */
  let api: TestEngine;
  let worker: TestEngine;
  let looks: string[];
  let waits: Wait[];
  beforeEach(async () => {
    api = await openEngine();
    worker = await openEngine({ prefix: api.keys.prefix });
    waits = [];
    looks = [];
    const { inspect } = api.scripts;
    (api.scripts as { inspect: typeof inspect }).inspect = (tag, items) => {
      looks.push(...items.map(({ id }) => id));
      return inspect(tag, items);
    };
  });
  afterEach(async () => {
    for (const wait of waits) wait.stop();
    await worker.close();
    await api.close();
  });

  /** Submits as a synchronous request does: its process listens first. */
  const submitAndWait = async (id: string, t: TestEngine = api) => {
    const wait = new Wait({ id, queue: "jobs" }, t.engine);
    waits.push(wait);
    const { verdict } = await t.engine.submitter.submit(submissionOf(id, "jobs", '{"n":1}'), t.settings, true);
    return wait.outcome(LATER(), verdict === "new");
  };
  const leased = async (t: TestEngine = worker) => {
    const [task] = await t.reserve();
    return { queue: "jobs", id: task?.id ?? "", fence: task?.fence ?? "" };
  };
  const listed = async (id: string) =>
    (await api.redis.hget(storedKey(api.keys.tag(0), "task", id), TASK.listeners))?.split(" ") ?? [];
  /** On every server that has keys. Channels of a cluster belong to a shard. */
  const channels = async (of: string) => {
    const kind = isCluster(api.redis) ? "SHARDCHANNELS" : "CHANNELS";
    const found = await Promise.all(mastersOf(api.redis).map((server) => server.call("PUBSUB", kind, of)));
    return (found as string[][]).flat();
  };
  const published = async (work: () => Promise<unknown>) => {
    const calls = async () => {
      const stats = await Promise.all(mastersOf(api.redis).map((server) => server.info("commandstats")));
      const counts = stats.map((text) => Number(/cmdstat_s?publish:calls=(\d+)/.exec(text)?.[1] ?? 0));
      return counts.reduce((sum, count) => sum + count, 0);
    };
    const before = await calls();
    await work();
    return (await calls()) - before;
  };
  /** The first wait of a process subscribes and looks. */
  const warm = async () => {
    const waited = submitAndWait("warm");
    await eventually(async () => (await listed("warm")).length === 1);
    await worker.engine.leases.complete(await leased(), resultOf("warm"), worker.settings);
    await waited;
    looks.length = 0;
  };

  it("report the end of a task in another process, with its result and without a read", async () => {
    await warm();
    const waited = submitAndWait("a");
    await eventually(async () => (await listed("a")).length === 1);
    await worker.engine.leases.complete(await leased(), resultOf("done"), worker.settings);
    const { end } = await waited;
    const seen = await api.look("a");
    const { id, queue, state, attempts, finishedMs, expiresMs, expired, deleted, canceledBy, result } = seen;
    const told = { id, queue, state, attempts, finishedMs, expiresMs, expired, deleted, canceledBy, result };
    expect(end).to.deep.equal({ ...told, nowMs: finishedMs });
    expect(result?.body.toString()).to.equal("done");
    expect(looks).to.deep.equal(["a"]);
  });

  it("are not sent to the process that runs the task, which notifies its own listeners directly", async () => {
    await warm();
    const waited = submitAndWait("a");
    await eventually(async () => (await listed("a")).length === 1);
    const lease = await leased(api);
    expect(await published(() => api.engine.leases.complete(lease, resultOf("own"), api.settings))).to.equal(0);
    const { end } = await waited;
    const seen = await api.look("a");
    expect(end).to.deep.include({ state: "succeeded", attempts: 1, finishedMs: seen.finishedMs });
    expect(end).to.deep.include({ expiresMs: seen.expiresMs });
    expect(end?.result?.body.toString()).to.equal("own");
  });

  it("need one subscription for each process, however many callers wait", async () => {
    const own = storedKey(api.keys.tag(0), "notices", "*");
    const waited = Promise.all(Array.from({ length: 1000 }, (_, n) => submitAndWait(`w${n}`)));
    await eventually(async () => (await api.engine.queues.figures(["jobs"]))[0]?.snapshot.waiting === 1000);
    expect((await channels(own)).length).to.equal(2);
    for (let left = 1000; left > 0; ) {
      const tasks = await worker.reserve(100);
      left -= tasks.length;
      const lease = ({ id, fence }: { id: string; fence: string }) => ({ queue: "jobs", id, fence });
      await Promise.all(tasks.map((t) => worker.engine.leases.complete(lease(t), resultOf(t.id), worker.settings)));
    }
    const ends = await waited;
    expect(ends.map(({ end }) => end?.result?.body.toString())).to.deep.equal(ends.map((_, n) => `w${n}`));
  });

  it("of a long result, a failure, a cancel and a deleted result report the same as a read", async () => {
    await warm();
    const bodies = ["x".repeat(SHARED.noticeBytes + 1), "short"];
    for (const [n, body] of bodies.entries()) {
      const waited = submitAndWait(`r${n}`);
      await eventually(async () => (await listed(`r${n}`)).length === 1);
      await worker.engine.leases.complete(await leased(), resultOf(body), worker.settings);
      expect((await waited).end?.result?.body.toString()).to.equal(body);
    }
    const failed = submitAndWait("f");
    await eventually(async () => (await listed("f")).length === 1);
    await worker.engine.leases.fail(await leased(), failureOf("give-up"), worker.settings);
    expect((await failed).end).to.deep.include({ state: "failed", attempts: 1 });
    const canceled = submitAndWait("c");
    await eventually(async () => (await listed("c")).length === 1);
    await worker.engine.call("cancel", { id: "c", queue: "jobs" });
    expect((await canceled).end).to.deep.include({ state: "canceled", result: null });
    expect(looks).to.deep.equal(["r0"]);
  });

  it("reach a later request with the same id, in either process", async () => {
    const first = submitAndWait("a");
    await eventually(async () => (await listed("a")).length === 1);
    const second = submitAndWait("a", worker);
    await eventually(async () => (await listed("a")).length === 2);
    await worker.engine.leases.complete(await leased(), resultOf("once"), worker.settings);
    for (const { end } of await Promise.all([first, second])) expect(end?.result?.body.toString()).to.equal("once");
  });

  it("report each change to a listener, with one message for a call; a caller who waits for the end gets only that", async () => {
    const heard: (Notice | null)[] = [];
    const listening = api.engine.notices.listen({ id: "a", queue: "jobs" }, (notice) => heard.push(notice));
    await listening.ready;
    await api.submit({ id: "a" });
    await api.engine.inspector.inspect("a", { result: false, listen: true });
    expect(await listed("a")).to.deep.equal([api.engine.notices.process]);
    const ending = submitAndWait("a", worker);
    await eventually(async () => (await listed("a")).length === 2);
    expect(
      await published(() =>
        leased().then((lease) => worker.engine.call("progress", { ...lease, progress: `${1} ${""}` })),
      ),
    ).to.equal(2);
    await worker.engine.call("cancel", { id: "a", queue: "jobs" });
    await eventually(() => heard.length === 3);
    expect(heard.map((notice) => notice?.ended)).to.deep.equal([false, false, false]);
    listening.stop();
    waits[0]?.stop();
    void ending.catch(() => undefined);
  });

  it("report that a result was deleted, to be read", async () => {
    await api.submit({ id: "a" });
    await worker.engine.leases.complete(await leased(), resultOf("done"), worker.settings);
    const heard: (Notice | null)[] = [];
    const listening = api.engine.notices.listen({ id: "a", queue: "jobs" }, (notice) => heard.push(notice));
    await listening.ready;
    await api.engine.inspector.inspect("a", { result: false, listen: true });
    expect(await worker.engine.call("cancel", { id: "a", queue: "jobs" })).to.equal("deleted");
    await eventually(() => heard.length === 1);
    expect(heard).to.deep.equal([{ id: "a", ended: true, output: false, end: null }]);
    expect(await api.look("a")).to.deep.include({ state: "succeeded", deleted: true, result: null });
    listening.stop();
  });

  it("end a wait whose task was deleted before it was submitted again", async () => {
    await api.submit({ id: "a" });
    await worker.engine.leases.complete(await leased(), resultOf("done"), worker.settings);
    await worker.engine.call("cancel", { id: "a", queue: "jobs" });
    const { end } = await submitAndWait("a");
    expect(end).to.deep.include({ state: "succeeded", deleted: true, result: null });
  });

  it("go to all processes if more listen than a record can name", async () => {
    await api.submit({ id: "a" });
    for (let n = 0; n < SHARED.maxListeners; n += 1) {
      await api.scripts.watch(api.keys.tag(0), `gone${n}`, [{ id: "a", result: false }]);
    }
    expect((await listed("a")).length).to.equal(SHARED.maxListeners);
    const waited = submitAndWait("a");
    await eventually(async () => (await listed("a")).includes(SHARED.everyone));
    await worker.engine.leases.complete(await leased(), resultOf("all"), worker.settings);
    expect((await waited).end?.result?.body.toString()).to.equal("all");
  });

  it("are not needed: a wait also polls, in case a message is lost or was never sent", async () => {
    api.engine.pubsub.listen = async () => () => undefined;
    const waited = submitAndWait("a");
    await eventually(async () => (await listed("a")).length === 1);
    const lease = await leased();
    await worker.engine.leases.complete(lease, resultOf("late"), worker.settings);
    expect((await waited).end?.result?.body.toString()).to.equal("late");
  });

  it("are replaced by a read if a completion is sent again after its reply was lost", async () => {
    await warm();
    const waited = submitAndWait("a");
    await eventually(async () => (await listed("a")).length === 1);
    const lease = await leased(api);
    const item = { ...lease, keepMs: 60_000, tombstoneMs: 60_000, result: '{"s":200}\n' };
    await api.scripts.complete(api.keys.tag(0), [item], api.engine.notices.process);
    expect(await api.engine.leases.complete(lease, resultOf(""), api.settings)).to.equal("already");
    expect((await waited).end?.state).to.equal("succeeded");
  });
});
