import { expect } from "chai";
import { type Scripts, scriptsOf } from "../../../src/store/library/scripts.ts";
import { failureOf, openEngine, resultOf, type TestEngine } from "../../helpers/engine.ts";

const MANY = 70;
const VERBS = ["submit", "cancel", "release", "fail", "retry", "lose", "complete"] as const;
type Verb = (typeof VERBS)[number];

describe("many calls of a verb in one turn", () => {
  let t: TestEngine;
  let sizes: Map<Verb, number>;
  beforeEach(async () => {
    sizes = new Map();
    const noting =
      (scripts: Scripts, verb: Verb) =>
      (tag: string, items: readonly unknown[], ...rest: unknown[]) => {
        sizes.set(verb, Math.max(items.length, sizes.get(verb) ?? 0));
        return (scripts[verb] as (...args: unknown[]) => unknown)(tag, items, ...rest);
      };
    t = await openEngine({
      settings: { attempts: 1 },
      makeScripts: (redis) => {
        const scripts = scriptsOf(redis);
        return { ...scripts, ...Object.fromEntries(VERBS.map((verb) => [verb, noting(scripts, verb)])) };
      },
    });
  });
  afterEach(() => t.close());

  it("go together, but at most twenty of those that end tasks or put them back into a line: more would hold Redis for long", async () => {
    const { call, leases } = t.engine;
    const ids = Array.from({ length: MANY }, (_, n) => `a${n}`);
    const submitAll = () => Promise.all(ids.map((id) => t.submit({ id })));
    const takeAll = async () => (await t.reserve(MANY)).map(({ id, fence }) => ({ queue: "jobs", id, fence }));
    await submitAll();
    await Promise.all((await takeAll()).map((lease) => call("release", lease)));
    await Promise.all((await takeAll()).map((lease) => call("lose", lease)));
    await Promise.all((await takeAll()).map((lease) => leases.fail(lease, failureOf("retry"), t.settings)));
    await Promise.all(ids.map((id) => call("retry", { id, queue: "jobs" })));
    const held = await takeAll();
    expect(held).to.have.length(MANY);
    const complete = (announced: boolean, some: typeof held) =>
      Promise.all(some.map((lease) => leases.complete(lease, resultOf("x"), t.settings, { announced })));
    await complete(true, held.slice(30));
    expect(sizes.get("complete")).to.equal(20);
    await complete(false, held.slice(0, 30));
    expect(sizes.get("complete"), "if nobody hears of the end").to.equal(30);
    await Promise.all(ids.map((id) => call("cancel", { id, queue: "jobs" })));
    const { submit, complete: completed, ...moving } = Object.fromEntries(sizes);
    expect(submit).to.be.above(20);
    expect(moving).to.deep.equal({ cancel: 20, release: 20, fail: 20, retry: 20, lose: 20 });
  });
});
