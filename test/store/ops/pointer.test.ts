import { expect } from "chai";
import { openEngine, type TestEngine } from "../../helpers/engine.ts";

const HOUR_MS = 3_600_000;
const POINTER = { id: "a", queue: "jobs", caller: "", home: 1 };

describe("pointers to tasks in other partitions", () => {
  let t: TestEngine;
  let tag: string;
  beforeEach(async () => {
    t = await openEngine();
    tag = t.keys.tag(0);
  });
  afterEach(() => t.close());

  const point = async (pointer = POINTER, checkMs = HOUR_MS) =>
    (await t.scripts.point(tag, [pointer], { checkMs }))[0] ?? { verdict: "nothing", score: undefined };
  const home = async (id = "a") => (await t.scripts.home(tag, [id]))[0];
  const due = async () => (await t.scripts.repoint(tag, { checked: [] })).map(({ id }) => id);
  const checked = async (score: string | undefined, nextMs: number | null, id = "a") => {
    await t.scripts.repoint(tag, { checked: [{ id, score: score ?? "", nextMs }], limit: 0 });
  };
  /** The score of the pointer that has become due. */
  const claimed = async () => (await t.scripts.repoint(tag, { checked: [] }))[0]?.score;

  it("are deleted by the caller that wrote them, unless another has written them since", async () => {
    const { score } = await point();
    await point();
    await checked(score, null);
    expect(await home()).to.equal(1);
    const other = await point({ ...POINTER, id: "b" });
    await checked(other.score, null, "b");
    expect(await home("b")).to.equal(null);
    expect(await point({ ...POINTER, id: "b", home: 2 })).to.include({ verdict: "new" });
  });

  it("are due again when the caller that has checked them says so", async () => {
    await point(POINTER, 0);
    const score = await claimed();
    await checked(score, HOUR_MS);
    expect(await due()).to.deep.equal([]);
    // The check of another caller, which began before that, counts no longer.
    await checked(score, 0);
    expect(await due()).to.deep.equal([]);
    await point({ ...POINTER, id: "b" }, 0);
    await checked(await claimed(), 0, "b");
    expect(await due()).to.deep.equal(["b"]);
  });

  it("are gone after a check that found no task, but a task that has the id since stays", async () => {
    await t.submit({ id: "a" });
    await t.redis.zadd(t.key("pointers"), 1, "a");
    expect(await t.scripts.repoint(tag, { checked: [] })).to.have.nested.property("[0].home", null);
    await checked((await t.redis.zscore(t.key("pointers"), "a")) ?? "", null);
    expect(await t.look("a")).to.include({ state: "waiting" });
    await t.redis.zadd(t.key("pointers"), "XX", 1, "a");
    expect(await due()).to.deep.equal([]);
  });
});
