import { expect } from "chai";
import type { GroupInspection } from "../../../src/engine/groups/group-inspection.ts";
import type { BatchGroup } from "../../../src/engine/groups/groups.ts";
import { verify } from "../../../src/engine/maintenance/verify.ts";
import { move } from "../../../src/engine/submission/move.ts";
import { INTERNAL_QUEUES, inEachPartition } from "../../../src/handler/internal-queues.ts";
import { failureOf, openEngine, resultOf, type TestEngine } from "../../helpers/engine.ts";
import { GROUP } from "../../helpers/store/stored.ts";
import { eventually } from "../../shared/eventually.ts";
import { submissionOf } from "../../shared/submission.ts";

const close = (group: BatchGroup) => group.endBatch({ lines: 0, closes: true });
const fromStart = (count: number) => ({ by: "line", from: 0, count }) as const;

/** The queue of the webhooks that follow from the tasks of a queue. */
function webhooksOf({ keys }: TestEngine, queue: string): string {
  const all = inEachPartition({ queue: INTERNAL_QUEUES.webhooks }, keys.partitions);
  return all[keys.partitionOfQueue(queue)]?.queue ?? "";
}

/** The groups of an engine. */
function groupsOf(t: TestEngine) {
  const look = async ({ id }: Pick<BatchGroup, "id">): Promise<GroupInspection> => {
    const seen = await t.engine.groups.inspect(id);
    if (!seen) throw new Error(`${id} is unknown`);
    return seen;
  };
  const take = async () => {
    const [task] = await t.reserve();
    if (!task) throw new Error("nothing to take");
    return { queue: "jobs", id: task.id, fence: task.fence };
  };
  return {
    look,
    take,
    open: async (id: string | null = null, webhook: string | null = null): Promise<BatchGroup> => {
      const opened = await t.engine.groups.open({ id, caller: null, webhook }, t.settings);
      if (typeof opened === "string") throw new Error(opened);
      return opened;
    },
    join: async ({ id: group }: Pick<BatchGroup, "id">, ...ids: readonly string[]) => {
      const submissions = ids.map((id, line) => submissionOf(id, "jobs", '{"n":1}', { member: { group, line } }));
      const ends = await t.engine.submitter.submitAll(submissions, t.settings);
      return ends.map((end) => (end.status === "fulfilled" ? end.value.verdict : String(end.reason)));
    },
    countsOf: async (group: Pick<BatchGroup, "id">) =>
      Object.fromEntries(Object.entries((await look(group)).counts).filter(([, count]) => count > 0)),
    complete: async () => t.engine.leases.complete(await take(), resultOf("ok"), t.settings),
    fail: async (kind: "retry" | "later" | "give-up", attempts: number, delayMs = 0) =>
      t.engine.leases.fail(await take(), failureOf(kind, delayMs), { ...t.settings, attempts }),
    /** The ids that verify reports. */
    verified: async (heal = false) => (await verify(t.redis, t.scripts, t.keys, { heal })).disagreeing,
  };
}

describe("a group of tasks", () => {
  let t: TestEngine;
  let of: ReturnType<typeof groupsOf>;
  beforeEach(async () => {
    t = await openEngine({ settings: { attempts: 1 } });
    of = groupsOf(t);
  });
  afterEach(async () => {
    try {
      expect(await of.verified()).to.deep.equal([]);
    } finally {
      await t.close();
    }
  });

  it("counts its members, and knows the place of the last", async () => {
    const group = await of.open();
    await t.submit({ id: "before" });
    await of.join(group, "a", "b");
    await t.submit({ id: "after" });
    expect(await of.look(group)).to.deep.include({ state: "open", total: 2, index: 2, percent: 0 });
    await close(group);
    expect((await of.look(group)).state).to.equal("pending");
    await of.complete();
    await of.complete();
    expect(await of.countsOf(group)).to.deep.equal({ waiting: 1, succeeded: 1 });
    expect(await of.look(group)).to.deep.include({ total: 2, index: 0, percent: 50, finishedMs: null });
    await of.take();
    expect(await of.countsOf(group)).to.deep.equal({ running: 1, succeeded: 1 });
    expect((await of.look(group)).index).to.equal(null);
  });

  it("follows a member that waits for another attempt, is handed back, and moves", async () => {
    const group = await of.open();
    await of.join(group, "a", "b");
    await close(group);
    await of.fail("retry", 3, 60_000);
    expect(await of.countsOf(group)).to.deep.equal({ waiting: 1, retrying: 1 });
    await t.makeDue("a");
    await t.engine.maintenance.tick(0);
    expect(await of.countsOf(group)).to.deep.equal({ waiting: 2 });
    await t.engine.call("release", { ...(await of.take()) });
    await of.take();
    await t.endLease("a");
    await t.engine.maintenance.tick(0);
    expect(await of.countsOf(group)).to.deep.equal({ waiting: 2 });
    await t.submit({ id: "c" });
    await move(t.engine, { id: "a", queue: "jobs" }, { place: "last" });
    expect((await of.look(group)).index).to.equal(2);
    await move(t.engine, { id: "a", queue: "jobs" }, { delayMs: 60_000 });
    expect(await of.look(group)).to.deep.include({ index: 0 });
    expect(await of.countsOf(group)).to.deep.equal({ waiting: 1, scheduled: 1 });
  });

  it("ends with its last member, however each ends", async () => {
    const group = await of.open();
    await of.join(group, "succeeds", "fails", "dies", "is-canceled", "is-late");
    await close(group);
    expect(await t.redis.exists(t.key("groups")), "no tick has to close it").to.equal(0);
    await of.complete();
    await of.fail("give-up", 1);
    await of.fail("retry", 1);
    await t.engine.call("cancel", { id: "is-canceled", queue: "jobs" });
    expect((await of.look(group)).state).to.equal("pending");
    await t.redis.hset(t.key("task", "is-late"), "D", "1");
    await t.redis.zadd(t.key("deadlines"), "1", "is-late");
    await t.engine.maintenance.tick(0);
    expect(await of.countsOf(group)).to.deep.equal({ succeeded: 1, failed: 2, canceled: 2 });
    const { state, expiresMs, percent } = await of.look(group);
    expect({ state, percent }).to.deep.equal({ state: "done", percent: 100 });
    // A dead task is kept longest.
    expect(expiresMs).to.equal((await t.look("dies")).expiresMs);
    expect(await t.redis.pttl(t.key("members", group.id))).to.be.greaterThan(t.settings.resultTtlMs);
    expect(await t.redis.pttl(t.key("group", group.id))).to.be.greaterThan(t.settings.deadTtlMs);
  });

  it("is pending again while a dead member runs again", async () => {
    const group = await of.open();
    await of.join(group, "a");
    await close(group);
    await of.fail("retry", 1);
    expect((await of.look(group)).state).to.equal("done");
    await t.engine.call("retry", { id: "a", queue: "jobs" });
    expect(await of.look(group)).to.deep.include({ state: "pending", index: 0, finishedMs: null, expiresMs: null });
    expect(await t.redis.pttl(t.key("group", group.id))).to.equal(-1);
    await of.complete();
    expect((await of.look(group)).state).to.equal("done");
    expect(await t.redis.pttl(t.key("memberStates", group.id))).to.be.greaterThan(0);
  });

  it("keeps nothing of a member that runs longer than the group is kept", async () => {
    const group = await of.open();
    await of.join(group, "a");
    await close(group);
    const keys = (["group", "members", "memberEnds", "memberStates", "memberLine"] as const).map((kind) =>
      t.key(kind, group.id),
    );
    await t.redis.unlink(...keys);
    await of.complete();
    expect(await t.redis.exists(...keys)).to.equal(0);
  });

  it("is not known to anyone until it has a member", async () => {
    const group = await of.open("g");
    expect(await t.engine.groups.inspect("g")).to.equal(null);
    expect(await t.engine.groups.cancel("g", "jobs")).to.equal("unknown");
    expect((await of.open("g")).createdMs, "for another batch of the caller").to.equal(group.createdMs);
    await close(group);
    expect(await t.redis.exists(t.key("group", "g"), t.key("groups"))).to.equal(0);
    await of.open("g");
    const eves = await t.engine.groups.open({ id: "g", caller: "eve", webhook: null }, t.settings);
    expect(eves).to.deep.include({ state: "new" });
    expect(await of.join(group, "a"), "of the caller who came first").to.deep.equal(["closed"]);
  });

  it("takes members of several batches until it is closed, and none of another caller or queue", async () => {
    const group = await of.open("g");
    expect(await of.join(group, "a", "a")).to.deep.equal(["new", "replay"]);
    expect(await of.open("g")).to.deep.include({ createdMs: group.createdMs, state: "open", firstLine: 1 });
    const groups = t.engine.groups;
    const other = { ...t.settings, queue: "others" };
    expect(await groups.open({ id: "g", caller: "eve", webhook: null }, t.settings)).to.equal("foreign");
    expect(await groups.open({ id: "g", caller: null, webhook: null }, other)).to.equal("elsewhere");
    await close(group);
    expect(await of.join(group, "b", "a")).to.deep.equal(["closed", "replay"]);
    expect(await of.open("g")).to.deep.include({ state: "closed" });
    expect((await of.look(group)).total).to.equal(1);
    expect(await t.engine.inspector.inspect("b", { result: false })).to.equal(null);
  });

  it("does not take a task that exists outside of it", async () => {
    const [group, other] = [await of.open(), await of.open("other")];
    await t.submit({ id: "a" });
    await of.join(other, "b");
    await of.join(group, "c");
    const again = ["a", "b", "c"].map((id, line) => t.submit({ id, member: { group: group.id, line } }));
    const verdicts = (await Promise.all(again)).map(({ verdict, group }) => [verdict, group]);
    expect(verdicts).to.deep.equal([null, "other", group.id].map((of) => ["replay", of]));
    expect((await of.look(group)).total).to.equal(1);
  });

  it("is closed by a tick if nobody has closed it for long", async () => {
    const group = await of.open();
    await of.join(group, "a");
    await of.complete();
    await t.engine.maintenance.tick(0);
    expect((await of.look(group)).state).to.equal("open");
    await t.redis.zadd(t.key("groups"), "1", group.id);
    await t.engine.maintenance.tick(0);
    expect((await of.look(group)).state).to.equal("done");
    expect(await t.redis.exists(t.key("groups"))).to.equal(0);
  });

  it("is canceled with all members that have not ended, and takes no more", async () => {
    const group = await of.open();
    const ids = Array.from({ length: 250 }, (_, n) => `m${n}`);
    await of.join(group, ...ids);
    await of.complete();
    const running = await of.take();
    expect(await t.engine.groups.cancel(group.id, "jobs")).to.equal("canceled");
    expect((await of.look(group)).counts.waiting, "answered before all are canceled").to.be.greaterThan(0);
    await eventually(async () => (await of.look(group)).counts.waiting === 0);
    expect(await of.countsOf(group)).to.deep.equal({ running: 1, succeeded: 1, canceled: 248 });
    expect(await of.look(group)).to.deep.include({ state: "pending", cancelRequested: true });
    expect(await of.join(group, "more")).to.deep.equal(["closed"]);
    expect(await t.engine.leases.complete(running, resultOf("late"), t.settings)).to.equal("canceled");
    expect((await of.look(group)).state).to.equal("canceled");
    expect(await t.engine.groups.cancel(group.id, "jobs")).to.equal("canceled");
  });

  it("goes on being canceled by ticks if the process that began it is gone", async () => {
    const group = await of.open();
    await of.join(group, ...Array.from({ length: 50 }, (_, n) => `m${n}`));
    expect(await t.scripts.cancelGroup(t.keys.tag(0), { id: group.id, max: 20 })).to.equal("more");
    expect(await of.countsOf(group)).to.deep.equal({ waiting: 30, canceled: 20 });
    const { nextMs } = await t.engine.maintenance.tick(0);
    expect(nextMs).to.equal(0);
    expect(await of.countsOf(group)).to.deep.equal({ waiting: 10, canceled: 40 });
    await t.engine.maintenance.tick(0);
    expect((await of.look(group)).state).to.equal("canceled");
    expect(await t.redis.exists(t.key("groups"))).to.equal(0);
  });

  it("cancels no dead member that is run again after its cancel, also if the store was repaired", async () => {
    const group = await of.open();
    await of.join(group, "dead", "other");
    await of.fail("retry", 1);
    await t.engine.groups.cancel(group.id, "jobs");
    expect((await of.look(group)).state).to.equal("canceled");
    await t.engine.call("retry", { id: "dead", queue: "jobs" });
    expect(await of.verified(true)).to.deep.equal([]);
    await t.engine.maintenance.tick(0);
    expect((await t.look("dead")).state).to.equal("waiting");
    await of.complete();
    expect(await of.countsOf(group)).to.deep.equal({ succeeded: 1, canceled: 1 });
  });

  it("has ended when a tick that cancels it finds that the store has lost its last member", async () => {
    const group = await of.open();
    await of.join(group, "a", "lost");
    expect(await t.scripts.cancelGroup(t.keys.tag(0), { id: group.id, max: 1 })).to.equal("more");
    await t.redis.del(t.key("task", "lost"));
    await t.redis.zrem(t.key("waiting"), "lost");
    await t.engine.maintenance.tick(0);
    expect(await of.countsOf(group)).to.deep.equal({ canceled: 1 });
    expect((await of.look(group)).state).to.equal("canceled");
  });

  it("is not canceled once it has ended", async () => {
    const group = await of.open();
    await of.join(group, "a");
    await close(group);
    await of.complete();
    expect(await t.engine.groups.cancel(group.id, "jobs")).to.equal("ended");
    expect((await of.look(group)).state).to.equal("done");
    expect(await t.engine.groups.cancel("nothing", "jobs")).to.equal("unknown");
  });

  it("sends its webhook once, even if a dead member runs again", async () => {
    const group = await of.open("g", "https://example.com/");
    await of.join(group, "a");
    await close(group);
    await of.fail("retry", 1);
    await t.engine.call("retry", { id: "a", queue: "jobs" });
    await of.complete();
    const deliveries = await t.redis.zrange(t.key("waiting", "paihao.webhooks"), "0", "-1");
    expect(deliveries).to.have.length(1);
    expect(deliveries[0]).to.match(/^g:webhook:group:\d+$/);
    const input = await t.redis.hget(t.key("task", deliveries[0]), "i");
    expect(JSON.parse(input ?? "")).to.deep.equal({ group: "g", state: "done", url: "https://example.com/" });
  });

  it("is repaired by verify", async () => {
    const group = await of.open();
    await of.join(group, "a", "b", "c", "lost");
    await close(group);
    await of.complete();
    await t.redis.zadd(t.key("memberStates", group.id), "0", "a");
    await t.redis.zrem(t.key("memberLine", group.id), "b");
    await t.redis.zrem(t.key("memberStates", group.id), "c");
    await t.redis.del(t.key("task", "lost"));
    await t.redis.zrem(t.key("waiting"), "lost");
    expect([...(await of.verified())].sort()).to.deep.equal(["a", "b", "c", "lost"]);
    await of.verified(true);
    expect(await of.countsOf(group)).to.deep.equal({ waiting: 2, succeeded: 1 });
    await of.complete();
    await of.complete();
    expect((await of.look(group)).state).to.equal("done");
  });

  it("is repaired by verify if it would never close or end", async () => {
    const [left, over] = [await of.open(), await of.open()];
    await of.join(left, "a");
    await of.join(over, "b");
    await of.complete();
    await of.complete();
    await t.redis.zrem(t.key("groups"), left.id);
    await t.redis.hset(t.key("group", over.id), GROUP.closed, "1");
    await t.redis.zrem(t.key("groups"), over.id);
    expect([...(await of.verified())].sort()).to.deep.equal([left.id, over.id].sort());
    await of.verified(true);
    await t.engine.maintenance.tick(0);
    expect([(await of.look(left)).state, (await of.look(over)).state]).to.deep.equal(["done", "done"]);
  });

  it("knows a member that has ended when a later task has its id", async () => {
    const group = await of.open();
    await of.join(group, "a", "b");
    await of.complete();
    await t.redis.del(t.key("task", "a"));
    expect((await t.submit({ id: "a" })).verdict).to.equal("new");
    expect(await of.verified(true)).to.deep.equal([]);
    expect(await of.countsOf(group)).to.deep.equal({ waiting: 1, succeeded: 1 });
    await of.join(group, "a");
    expect((await of.look(group)).total).to.equal(2);
  });

  it("takes a task whose earlier record has gone as the member that it was", async () => {
    const group = await of.open();
    await of.join(group, "a");
    await of.complete();
    await t.redis.del(t.key("task", "a"));
    expect(await of.join(group, "a")).to.deep.equal(["new"]);
    expect(await of.countsOf(group)).to.deep.equal({ waiting: 1 });
    const member = { id: "a", line: 0, state: "waiting", end: null };
    expect(await t.engine.groups.members(group.id, "jobs", fromStart(10))).to.deep.equal([member]);
  });

  it("knows the last of its members in a fair line", async () => {
    const group = await of.open();
    const share = (key: string) => ({ key, weight: 1 });
    for (const [line, id] of ["a1", "a2", "a3"].entries()) {
      await t.submit({ id, member: { group: group.id, line }, share: share("a") });
    }
    for (const id of ["b1", "b2"]) await t.submit({ id, share: share("b") });
    expect((await of.look(group)).index).to.equal((await t.look("a3")).index);
    expect((await of.look(group)).index).to.equal(4);
    await t.engine.call("cancel", { id: "a3", queue: "jobs" });
    expect((await of.look(group)).index).to.equal((await t.look("a2")).index);
  });

  it("has its members in the order in which they joined", async () => {
    const group = await of.open();
    await of.join(group, "z", "y", "x");
    await of.complete();
    const { groups } = t.engine;
    expect(await groups.members(group.id, "jobs", fromStart(2))).to.deep.equal([
      { id: "z", line: 0, state: "succeeded", end: 0 },
      { id: "y", line: 1, state: "waiting", end: null },
    ]);
    const x = { id: "x", line: 2, state: "waiting", end: null };
    expect(await groups.members(group.id, "jobs", { by: "line", from: 2, count: 2 })).to.deep.equal([x]);
    await t.engine.call("cancel", { id: "x", queue: "jobs" });
    const ended = { ...x, state: "canceled", end: 1 };
    expect(await groups.members(group.id, "jobs", { by: "end", from: 1, count: 2 })).to.deep.equal([ended]);
  });

  it("knows when its last member will have ended", async () => {
    const group = await of.open();
    await of.join(group, "a", "b");
    expect((await of.look(group)).eta).to.equal(null);
    await t.redis.hset(t.key("queue"), "slots", "1", "workers", "1", "liveUntil", String(Date.now() * 2));
    await of.complete();
    const eta = (await of.look(group)).eta;
    expect(eta).to.include({ basis: "idle" });
    await close(group);
    await of.complete();
    expect((await of.look(group)).eta).to.equal(null);
  });
});

describe("a group over several partitions", () => {
  let t: TestEngine;
  const others: TestEngine[] = [];
  afterEach(() => Promise.all([t, ...others.splice(0)].map((one) => one.close())));
  /** Another process, which knows nothing yet. */
  const another = async () => {
    const one = await openEngine({ partitions: 4, prefix: t.keys.prefix });
    others.push(one);
    return one;
  };

  for (const keyed of [false, true]) {
    it(`is whole in that of its queue, whatever the ids of its members: ${keyed ? "keyed" : "plain"}`, async () => {
      t = await openEngine({ partitions: 4, ...(keyed && { settings: { keyedConcurrency: 1 } }) });
      const of = groupsOf(t);
      for (const id of ["g1", "g2", "g3", "g4", "g5"]) {
        const group = await of.open(id);
        const member = { group: id, line: 0 };
        const submit = (of: string) => t.submit({ id: of, member, ...(keyed && { key: `key-${of.length % 3}` }) });
        const ids = ["a", "b", "c", "d", "e", "f"].map((name) => `${id}${name}`);
        for (const one of ids) expect((await submit(one)).verdict).to.equal("new");
        expect((await submit(`${id}a`)).verdict).to.equal("replay");
        expect(await of.countsOf(group)).to.deep.equal({ waiting: 6 });
        expect((await of.look(group)).index).to.equal((await t.look(`${id}f`)).index);
        expect((await t.engine.groups.members(id, "jobs", fromStart(10))).map((one) => one.id)).to.deep.equal(ids);
        for (const id of ids)
          expect((await t.engine.inspector.inspect(id, { result: false }))?.state).to.equal("waiting");
      }
      expect(await of.verified()).to.deep.equal([]);
      const groups = async () => (await another()).engine.groups;
      expect(await (await groups()).cancel("g2", "jobs")).to.equal("canceled");
      expect(await of.look({ id: "g2" })).to.deep.include({ state: "canceled", total: 6 });
      expect(await (await groups()).members("g3", "jobs", fromStart(10))).to.have.length(6);
      const { engine } = await another();
      expect((await engine.groups.inspect("g3"))?.total).to.equal(6);
      expect(await engine.groups.inspect("nothing")).to.equal(null);
    });
  }

  /** Queues of three partitions; the ids of the tests lead to the first of these. */
  const threeQueues = () => {
    const names = Array.from({ length: 60 }, (_, n) => `queue-${n}`);
    return [0, 1, 2].map((p) => names.find((queue) => t.keys.partitionOfQueue(queue) === p) ?? "");
  };
  const idsInFirst = () =>
    Array.from({ length: 200 }, (_, n) => `id-${n}`).filter((id) => t.keys.partitionOf(id) === 0);

  it("may have the id of a task, of its own or of another queue, whichever comes first", async () => {
    t = await openEngine({ partitions: 4 });
    const fresh = (await another()).engine;
    const queues = threeQueues();
    const ids = idsInFirst();
    for (const taskFirst of [true, false]) {
      for (const [queue, other] of queues.flatMap((queue) => queues.map((of) => [queue, of] as const))) {
        const id = ids.pop() ?? "";
        const what = `task in ${queue}, group in ${other}`;
        const of = (name: string) => ({ ...t.settings, queue: name });
        const submit = () => t.engine.submitter.submit(submissionOf(id, queue, "1", { caller: "eve" }), of(queue));
        let group: BatchGroup | string = "";
        const open = async () => {
          group = await t.engine.groups.open({ id, caller: null, webhook: "https://example.com/hook" }, of(other));
          const member = { group: id, line: 0 };
          await t.engine.submitter.submit(submissionOf(`${id}-member`, other, "1", { member }), of(other));
        };
        for (const make of taskFirst ? [submit, open] : [open, submit]) await make();
        for (const engine of [t.engine, fresh]) {
          expect((await engine.inspector.inspect(id, { result: false }))?.queue, what).to.equal(queue);
          expect(await engine.groups.inspect(id), what).to.deep.include({ state: "open", queue: other, total: 1 });
        }
        expect(await fresh.call("cancel", { id, queue }), what).to.equal("canceled");
        expect((await fresh.groups.inspect(id))?.state, what).to.equal("open");
        await close(group as unknown as BatchGroup);
        expect(await fresh.groups.cancel(id, other), what).to.equal("canceled");
        // The event of the group's end is with the group, and is found by its id.
        const asked = { queue: webhooksOf(t, other), after: null, limit: 200 };
        const { entries } = await t.engine.queues.page("waiting", asked);
        const [event = ""] = entries.flatMap((one) => (one.id.startsWith(`${id}:webhook:group`) ? [one.id] : []));
        expect((await fresh.inspector.inspect(event, { result: false }))?.state, what).to.equal("waiting");
      }
    }
  });

  it("has an id that no group of another queue or caller has", async () => {
    t = await openEngine({ partitions: 4 });
    const queues = threeQueues();
    const ids = idsInFirst();
    for (const [queue, other] of queues.flatMap((queue) => queues.map((of) => [queue, of] as const))) {
      const id = ids.pop() ?? "";
      const open = (of: string, caller: string) =>
        t.engine.groups.open({ id, caller, webhook: null }, { ...t.settings, queue: of });
      expect(await open(queue, "ann")).to.include({ id });
      const member = { group: id, line: 0 };
      const first = submissionOf(`${id}-member`, queue, "1", { member, caller: "ann" });
      await t.engine.submitter.submit(first, { ...t.settings, queue });
      const again = await open(other, "ann");
      if (other === queue) expect(again).to.include({ id, state: "open" });
      else expect(again, `${queue}, then ${other}`).to.equal("elsewhere");
      expect(await open(other, "eve"), `${queue}, then ${other}`).to.equal("foreign");
    }
  });

  it("takes batches of two processes at the same time", async () => {
    t = await openEngine({ partitions: 4 });
    const second = await another();
    const both = [groupsOf(t), groupsOf(second)];
    const ids = (of: number) => Array.from({ length: 200 }, (_, n) => `p${of}-${n}`);
    await Promise.all(both.map(async (of, n) => of.join(await of.open("shared"), ...ids(n))));
    const [first] = both;
    expect(await first?.look({ id: "shared" })).to.deep.include({ state: "open", total: 400 });
    const members = await t.engine.groups.members("shared", "jobs", fromStart(1000));
    expect(members.map(({ line }) => line)).to.deep.equal(members.map((_, n) => n));
    for (const of of [0, 1]) {
      const own = members.flatMap((one) => (one.id.startsWith(`p${of}-`) ? one.id : []));
      expect(own).to.deep.equal(ids(of));
    }
  });
});
