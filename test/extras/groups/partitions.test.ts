import { expect } from "chai";
import { type BatchGroup, groupsOf } from "../../../src/extras/groups/groups.ts";
import { INTERNAL_QUEUES, inEachPartition } from "../../../src/handler/internal-queues.ts";
import { openEngine, type TestEngine } from "../../helpers/engine.ts";
import { submissionOf } from "../../shared/submission.ts";
import { callsOn, close, fromStart } from "./calls-on.ts";

/** The queue of the webhooks that follow from the tasks of a queue. */
function webhooksOf({ keys }: TestEngine, queue: string): string {
  const all = inEachPartition({ queue: INTERNAL_QUEUES.webhooks }, keys.partitions);
  return all[keys.partitionOfQueue(queue)]?.queue ?? "";
}

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

  it("is whole in that of its queue, whatever the ids of its members", async () => {
    t = await openEngine({ partitions: 4 });
    const of = callsOn(t);
    for (const id of ["g1", "g2", "g3", "g4", "g5"]) {
      const group = await of.open(id);
      const member = { group: id, line: 0 };
      const submit = (of: string) => t.submit({ id: of, member });
      const ids = ["a", "b", "c", "d", "e", "f"].map((name) => `${id}${name}`);
      for (const one of ids) expect((await submit(one)).verdict).to.equal("new");
      expect((await submit(`${id}a`)).verdict).to.equal("replay");
      expect(await of.countsOf(group)).to.deep.equal({ waiting: 6 });
      expect((await of.look(group)).index).to.equal((await t.look(`${id}f`)).index);
      expect((await groupsOf(t.engine).members(id, "jobs", fromStart(10))).map((one) => one.id)).to.deep.equal(ids);
      for (const id of ids)
        expect((await t.engine.inspector.inspect(id, { result: false }))?.state).to.equal("waiting");
    }
    expect(await of.verified()).to.deep.equal([]);
    const groups = async () => groupsOf((await another()).engine);
    expect(await (await groups()).cancel("g2", "jobs")).to.equal("canceled");
    expect(await of.look({ id: "g2" })).to.deep.include({ state: "canceled", total: 6 });
    expect(await (await groups()).members("g3", "jobs", fromStart(10))).to.have.length(6);
    const { engine } = await another();
    expect((await groupsOf(engine).inspect("g3"))?.total).to.equal(6);
    expect(await groupsOf(engine).inspect("nothing")).to.equal(null);
  });

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
          group = await groupsOf(t.engine).open({ id, caller: null, webhook: "https://example.com/hook" }, of(other));
          const member = { group: id, line: 0 };
          await t.engine.submitter.submit(submissionOf(`${id}-member`, other, "1", { member }), of(other));
        };
        for (const make of taskFirst ? [submit, open] : [open, submit]) await make();
        for (const engine of [t.engine, fresh]) {
          expect((await engine.inspector.inspect(id, { result: false }))?.queue, what).to.equal(queue);
          expect(await groupsOf(engine).inspect(id), what).to.deep.include({ state: "open", queue: other, total: 1 });
        }
        expect(await fresh.call("cancel", { id, queue }), what).to.equal("canceled");
        expect((await groupsOf(fresh).inspect(id))?.state, what).to.equal("open");
        await close(group as unknown as BatchGroup);
        expect(await groupsOf(fresh).cancel(id, other), what).to.equal("canceled");
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
        groupsOf(t.engine).open({ id, caller, webhook: null }, { ...t.settings, queue: of });
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
    const both = [callsOn(t), callsOn(second)];
    const ids = (of: number) => Array.from({ length: 200 }, (_, n) => `p${of}-${n}`);
    await Promise.all(both.map(async (of, n) => of.join(await of.open("shared"), ...ids(n))));
    const [first] = both;
    expect(await first?.look({ id: "shared" })).to.deep.include({ state: "open", total: 400 });
    const members = await groupsOf(t.engine).members("shared", "jobs", fromStart(1000));
    expect(members.map(({ line }) => line)).to.deep.equal(members.map((_, n) => n));
    for (const of of [0, 1]) {
      const own = members.flatMap((one) => (one.id.startsWith(`p${of}-`) ? one.id : []));
      expect(own).to.deep.equal(ids(of));
    }
  });
});
