import { expect } from "chai";
import type { QueueSettings } from "../../../src/engine/settings.ts";
import { ProblemError } from "../../../src/errors.ts";
import { type Scripts, scriptsOf } from "../../../src/store/library/scripts.ts";
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
