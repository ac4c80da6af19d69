import { expect } from "chai";
import type { QueueSettings } from "../../../src/engine/settings.ts";
import { ProblemError } from "../../../src/errors.ts";
import { type Scripts, scriptsOf } from "../../../src/store/verbs/scripts.ts";
import { openEngine, type TestEngine } from "../../helpers/engine.ts";
import { storedKey } from "../../helpers/store/stored.ts";
import { type GivenSubmission, submissionOf } from "../../shared/submission.ts";

const PARTITIONS = 3;

describe("a submission to one of several partitions", () => {
  let t: TestEngine;
  /** Replaces verbs of the store. */
  let replaced: (scripts: Scripts) => Partial<Scripts>;
  beforeEach(async () => {
    replaced = () => ({});
    const makeScripts = (redis: TestEngine["redis"]): Scripts => {
      const scripts = scriptsOf(redis);
      return {
        ...scripts,
        submit: (...given) => (replaced(scripts).submit ?? scripts.submit)(...given),
        point: (...given) => (replaced(scripts).point ?? scripts.point)(...given),
      };
    };
    t = await openEngine({ partitions: PARTITIONS, makeScripts });
  });
  afterEach(() => t.close());

  const submit = (id: string, given: GivenSubmission = {}, settings: Partial<QueueSettings> = {}) =>
    t.engine.submitter.submit(submissionOf(id, "jobs", "1", given), { ...t.settings, ...settings });
  const ids = (name: string, count: number) => Array.from({ length: count }, (_, n) => `${name}${n}`);
  /** An id whose partition is not that of the queue. */
  const idElsewhere = () =>
    ids("id", 50).find((id) => t.keys.partitionOf(id) !== t.keys.partitionOfQueue("jobs")) ?? "";
  /** The submissions that were counted, by queue and verdict. */
  const counts = async () => {
    const text = await t.engine.metrics.exposition();
    const seen = text.matchAll(/^paihao_submissions_total\{queue="(.*)",verdict="(.*)"\} ([1-9].*)$/gm);
    return Object.fromEntries([...seen].map(([, queue, verdict, count]) => [`${queue} ${verdict}`, Number(count)]));
  };

  it("is refused if the line is longer than its caller accepts", async () => {
    for (const id of ids("a", 9)) await submit(id);
    expect((await submit("no", { maxIndex: 8 })).verdict).to.equal("long");
    expect(await t.engine.inspector.inspect("no", { result: false })).to.equal(null);
    expect(await submit("yes", { maxIndex: 9 })).to.include({ verdict: "new", index: 9 });
    // Only tasks of its class and of more urgent ones are before it.
    expect(await submit("urgent", { maxIndex: 0, priority: 0 })).to.include({ verdict: "new", index: 0 });
    const { engine, settings } = t;
    const together = ids("b", 3).map((id) => submissionOf(id, "jobs", "1", { maxIndex: 11 }));
    const ends = await engine.submitter.submitAll(together, settings);
    const verdicts = ends.map((end) => (end.status === "fulfilled" ? end.value.verdict : end.reason));
    expect(verdicts).to.include("new");
    expect((await submit("late", { maxIndex: 11 })).verdict).to.equal("long");
  });

  it("is refused in a fair line only if its place among those that take turns is too high", async () => {
    const of = (key: string) => ({ share: { key, weight: 1 } });
    for (const id of ids("a", 30)) await submit(id, of("A"));
    const { index } = await submit("b", { ...of("B"), dryRun: true });
    if (index === null) throw new Error("no place");
    expect(index, "before most of A").to.be.within(1, 10);
    expect((await submit("b", { ...of("B"), maxIndex: index - 1 })).verdict).to.equal("long");
    expect(await submit("b", { ...of("B"), maxIndex: index })).to.include({ verdict: "new", index });
    expect((await submit("b", { ...of("B"), maxIndex: 0 })).verdict, "it is there").to.equal("replay");
  });

  it("would be the last of its class, a dry run says", async () => {
    for (const id of ids("a", 7)) await submit(id);
    for (const id of ids("low", 4)) await submit(id, { priority: 7 });
    expect(await submit("dry", { dryRun: true })).to.include({ verdict: "dry", index: 7 });
    expect(await submit("dry", { dryRun: true, priority: 7 })).to.include({ verdict: "dry", index: 11 });
  });

  it("may fill a queue up to its limit", async () => {
    const all = await Promise.all(ids("a", 20).map((id) => submit(id, {}, { maxWaiting: 7 })));
    expect(all.filter(({ verdict }) => verdict === "new")).to.have.length(7);
  });

  it("is stored with those submitted together in their order, whatever the partitions of their ids", async () => {
    const together = ids("b", 40).map((id) => submissionOf(id, "jobs", "1"));
    const ends = await t.engine.submitter.submitAll(together, t.settings);
    const indexes = ends.map((end) => (end.status === "fulfilled" ? end.value.index : end.reason));
    expect(indexes).to.deep.equal(together.map((_, n) => n));
    for (const [n, { id }] of together.entries()) expect((await t.look(id)).index).to.equal(n);
    const home = storedKey(t.keys.tagOfQueue("jobs"), "waiting", "jobs");
    expect(await t.redis.zcard(home), "in the partition of the queue").to.equal(together.length);
  });

  it("of a dry run leaves no pointer", async () => {
    const id = idElsewhere();
    expect((await submit(id, { dryRun: true })).verdict).to.equal("dry");
    const own = t.keys.tag(t.keys.partitionOf(id));
    expect(await t.redis.zcard(storedKey(own, "pointers"))).to.equal(0);
  });

  it("is only as durable as its pointer", async () => {
    const durable = async (pointer: boolean) => {
      replaced = ({ point }) => ({
        point: async (...given) => (await point(...given)).map((answer) => ({ ...answer, durable: pointer })),
      });
      return (await submit(idElsewhere())).durable;
    };
    expect(await durable(false)).to.equal(false);
    expect(await durable(true)).to.equal(true);
  });

  it("fails without its pointer, and is counted as refused", async () => {
    for (const [code, error] of [
      ["store-unavailable", new ProblemError("store-unavailable")],
      ["store-full", new ProblemError("store-full")],
      ["internal", new TypeError("no pointer")],
    ] as const) {
      replaced = () => ({ point: () => Promise.reject(error) });
      const seen = await submit(idElsewhere()).catch((reason: unknown) => reason);
      expect(seen).to.equal(error);
      expect(await t.engine.inspector.inspect(idElsewhere(), { result: false })).to.equal(null);
      expect(await counts()).to.have.property(`jobs ${code}`, 1);
    }
  });

  it("is counted by its verdict, or by the error of its call", async () => {
    // In one call.
    const home = t.keys.partitionOfQueue("jobs");
    const [a = "", b = "", c = "", d = "", e = ""] = ids("id", 50).filter((id) => t.keys.partitionOf(id) === home);
    const other = ids("other", 50).find((queue) => t.keys.partitionOfQueue(queue) === home) ?? "";
    await Promise.all([a, b, c, a, e, d].map((id) => submit(id, { queue: [c, e].includes(id) ? other : "jobs" })));
    expect(await counts()).to.deep.equal({ "jobs new": 3, "jobs replay": 1, [`${other} new`]: 2 });
    for (const code of ["store-full", "unknown"] as const) {
      replaced = () => ({ submit: () => Promise.reject(new ProblemError(code)) });
      await Promise.allSettled(ids("lost", 4).map((id) => submit(id)));
    }
    expect(await counts()).to.include({ "jobs store-full": 4, "jobs internal": 4 });
  });

  it("that is stored but not as durable as wanted is counted twice", async () => {
    replaced = ({ submit: send }) => ({ submit: async (...given) => ({ ...(await send(...given)), durable: false }) });
    const all = await Promise.all(ids("a", 5).map((id) => submit(id)));
    expect(all.map(({ durable }) => durable)).to.deep.equal(all.map(() => false));
    expect(await counts()).to.deep.equal({ "jobs new": 5, "jobs not-durable": 5 });
  });
});
