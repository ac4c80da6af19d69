import { expect } from "chai";
import { verify } from "../../../src/engine/upkeep/verify.ts";
import { ProblemError } from "../../../src/errors.ts";
import type { Connection } from "../../../src/store/connection.ts";
import { type Scripts, scriptsOf } from "../../../src/store/library/scripts.ts";
import { openEngine, type TestEngine } from "../../helpers/engine.ts";
import { type GivenSubmission, submissionOf } from "../../shared/submission.ts";

const OPTIONS = { partitions: 3 };

describe("the pointer of a submission, over several partitions", () => {
  let t: TestEngine;
  /** Comes between a submission of the process under test and the partition of the queue. */
  let onSubmit: (send: () => ReturnType<Scripts["submit"]>) => ReturnType<Scripts["submit"]>;
  const opened: TestEngine[] = [];
  beforeEach(async () => {
    onSubmit = (send) => send();
    t = await open({ makeScripts });
  });
  afterEach(async () => {
    const { disagreeing } = await verify(t.redis, t.scripts, t.keys, { heal: false });
    for (const engine of opened.splice(0)) await engine.close();
    expect(disagreeing, "verify").to.deep.equal([]);
  });

  const open = async (options: Partial<Parameters<typeof openEngine>[0]> = {}) => {
    const engine = await openEngine({ ...OPTIONS, ...options });
    opened.push(engine);
    return engine;
  };
  const anotherProcess = () => open({ prefix: t.keys.prefix });
  const makeScripts = (redis: Connection): Scripts => {
    const scripts = scriptsOf(redis);
    const submit: Scripts["submit"] = (tag, items) => onSubmit(() => scripts.submit(tag, items));
    return { ...scripts, submit };
  };
  /** The nth id whose partition is not that of the queue. */
  const idElsewhere = (n = 0) => {
    const ids = Array.from({ length: 50 }, (_, i) => `id${i}`);
    return ids.filter((id) => t.keys.partitionOf(id) !== t.keys.partitionOf("jobs"))[n] ?? "";
  };
  const submit = (id: string, engine = t, options: GivenSubmission = {}) =>
    engine.engine.submitter.submit(submissionOf(id, "jobs", "1", options), t.settings);
  const submitPlain = (id: string, engine = t) =>
    engine.engine.submitter.submit(submissionOf(id, "plain", "1"), {
      ...t.settings,
      queue: "plain",
    });
  const failure = (work: Promise<unknown>): Promise<string> =>
    work.then(
      () => "none",
      (error: unknown) => (error instanceof ProblemError ? error.code : String(error)),
    );
  const isFree = async (id: string) => (await submitPlain(id, await anotherProcess())).verdict === "new";

  it("is deleted at once when the line is full or too long, so that the id is free for another queue", async () => {
    const full = { ...t.settings, maxWaiting: 0 };
    const refused = submissionOf(idElsewhere(0), "jobs", "1");
    expect((await t.engine.submitter.submit(refused, full)).verdict).to.equal("full");
    await submit("first");
    expect((await submit(idElsewhere(1), t, { maxIndex: 0 })).verdict).to.equal("long");
    for (const n of [0, 1]) {
      expect((await submitPlain(idElsewhere(n))).verdict).to.equal("new");
      expect(await t.look(idElsewhere(n))).to.include({ state: "waiting", queue: "plain" });
    }
  });

  it("is kept when only the answer was lost", async () => {
    onSubmit = async (send) => {
      await send();
      throw new ProblemError("store-unavailable");
    };
    expect(await failure(submit(idElsewhere()))).to.equal("store-unavailable");
    onSubmit = (send) => send();
    expect(await (await anotherProcess()).look(idElsewhere())).to.include({ state: "waiting" });
    expect((await submit(idElsewhere())).verdict).to.equal("replay");
  });

  it("is kept when the id was submitted again meanwhile and accepted", async () => {
    const id = idElsewhere();
    const other = await anotherProcess();
    let arrived = Promise.resolve<{ verdict: string }>({ verdict: "none" });
    onSubmit = async (send) => {
      onSubmit = (next) => next();
      const refused = await send();
      arrived = submit(id, other);
      await arrived;
      return refused;
    };
    const full = { ...t.settings, maxWaiting: 0 };
    expect((await t.engine.submitter.submit(submissionOf(id, "jobs", "1"), full)).verdict).to.equal("full");
    expect((await arrived).verdict).to.equal("new");
    expect(await (await anotherProcess()).look(id)).to.include({ state: "waiting" });
    expect((await submitPlain(id)).verdict).to.equal("elsewhere");
  });

  it("is deleted after a process died between writing it and submitting the task", async () => {
    const id = idElsewhere();
    const own = t.keys.tag(t.keys.partitionOf(id));
    const pointer = { id, queue: "jobs", caller: "", home: t.keys.partitionOf("jobs") };
    // As if the time had passed after which it is looked at.
    await t.scripts.point(own, [pointer], { checkMs: -1000 });
    await t.engine.upkeep.checkPointers(t.keys.partitionOf(id));
    expect(await isFree(id)).to.equal(true);
  });
});
