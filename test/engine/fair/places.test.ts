import { expect } from "chai";
import fc from "fast-check";
import type { Lease } from "../../../src/store/verbs/lease.ts";
import { failureOf, openEngine, resultOf, type TestEngine } from "../../helpers/engine.ts";
import { storedKey, TASK } from "../../helpers/store/stored.ts";

const KEYS = ["a", "b", "c", "d"] as const;
const WEIGHTS = [1, 3, 0.5, 100] as const;

type Op =
  | { op: "submit"; key: number; priority: number }
  | { op: "reserve"; count: number }
  | { op: "cancel" | "release" | "lose" | "fail" | "complete" | "retry"; nth: number };

const op: fc.Arbitrary<Op> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      op: fc.constant("submit" as const),
      key: fc.nat(KEYS.length - 1),
      priority: fc.constantFrom(3, 3, 3, 0),
    }),
  },
  { weight: 3, arbitrary: fc.record({ op: fc.constant("reserve" as const), count: fc.integer({ min: 1, max: 4 }) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      op: fc.constantFrom("cancel" as const, "release" as const, "lose" as const, "fail" as const, "retry" as const),
      nth: fc.nat(50),
    }),
  },
  { weight: 1, arbitrary: fc.record({ op: fc.constant("complete" as const), nth: fc.nat(50) }) },
);

/** What a random run has done. */
interface Run {
  readonly t: TestEngine;
  readonly ids: string[];
  readonly leases: Lease[];
  readonly dead: string[];
}

/** The line of the store, the next first, with scores. */
async function lineOf({ t }: Run): Promise<string[]> {
  return await t.redis.zrange(storedKey(t.keys.tag(0), "waiting"), "0", "-1");
}

async function play(run: Run, step: Op): Promise<void> {
  const { t, ids, leases, dead } = run;
  if (step.op === "submit") {
    const key = KEYS[step.key] ?? "a";
    const id = `${key}${ids.length}`;
    const { index } = await t.submit({
      id,
      priority: step.priority,
      share: { key, weight: WEIGHTS[step.key] ?? 1 },
    });
    ids.push(id);
    expect((await lineOf(run)).indexOf(id), "the index answered").to.equal(index);
    return;
  }
  if (step.op === "reserve") {
    const before = await lineOf(run);
    const taken = await t.reserve(step.count);
    expect(taken.map(({ id }) => id)).to.deep.equal(before.slice(0, step.count));
    leases.push(...taken.map(({ id, fence }) => ({ queue: "jobs", id, fence })));
    return;
  }
  if (step.op === "retry") {
    const [id] = dead.splice(step.nth % Math.max(1, dead.length), 1);
    if (id === undefined) return;
    expect(await t.engine.call("retry", { id, queue: "jobs" })).to.equal("waiting");
    return;
  }
  if (step.op === "cancel") {
    const line = await lineOf(run);
    const id = line[step.nth % Math.max(1, line.length)];
    if (id === undefined) return;
    await t.engine.call("cancel", { id, queue: "jobs" });
    expect(await lineOf(run)).to.deep.equal(line.filter((other) => other !== id));
    return;
  }
  const [lease] = leases.splice(step.nth % Math.max(1, leases.length), 1);
  if (lease === undefined) return;
  const before = await lineOf(run);
  const running = await t.redis.hget(t.key("task", lease.id), TASK.run);
  const old = running?.split(" ")[3];
  if (step.op === "complete") await t.engine.leases.complete(lease, resultOf("x"), t.settings);
  if (step.op === "release") await t.engine.call("release", lease);
  if (step.op === "lose") await t.engine.call("lose", lease);
  if (step.op === "fail") {
    await t.engine.leases.fail(lease, failureOf("retry"), t.settings);
    dead.push(lease.id);
  }
  if (step.op === "release" || step.op === "lose") {
    // Back at its old place, and nobody else has moved.
    expect(await t.redis.zscore(storedKey(t.keys.tag(0), "waiting"), lease.id)).to.satisfy(
      (score: string) => Number(score) === Number(old),
    );
    expect((await lineOf(run)).filter((id) => id !== lease.id)).to.deep.equal(before);
  }
}

describe("places in a fair line", () => {
  it("are exact whatever happens: the order of starts is that of the indexes", async function () {
    this.timeout(120_000);
    await fc.assert(
      fc.asyncProperty(fc.array(op, { minLength: 5, maxLength: 60 }), async (steps) => {
        const t = await openEngine({ settings: { attempts: 1, maxLost: 1000 } });
        try {
          const run: Run = { t, ids: [], leases: [], dead: [] };
          for (const step of steps) await play(run, step);
          const line = await lineOf(run);
          const seen = await Promise.all(line.map((id) => t.engine.inspector.inspect(id, { result: false })));
          expect(seen.map((task) => task?.index)).to.deep.equal(line.map((_, n) => n));
          const tag = t.keys.tag(0);
          const keys = new Set(
            (await Promise.all(line.map((id) => t.redis.hget(storedKey(tag, "task", id), TASK.share)))).map(String),
          );
          expect(await t.redis.hlen(storedKey(tag, "shares"))).to.equal(
            await t.redis.zcard(storedKey(tag, "shareEnds")),
          );
          if (keys.size === 0) expect(await t.redis.exists(storedKey(tag, "shares"))).to.equal(0);
          const rest: string[] = [];
          for (let some = await t.reserve(3); some.length > 0; some = await t.reserve(3)) {
            rest.push(...some.map(({ id }) => id));
          }
          expect(rest).to.deep.equal(line);
          expect(await t.redis.exists(storedKey(tag, "shares"), storedKey(tag, "shareEnds"))).to.equal(0);
        } finally {
          await t.close();
        }
      }),
      { numRuns: 60 },
    );
  });

  it("of one key are in the order of arrival, whatever is canceled", async function () {
    this.timeout(120_000);
    const steps = fc.array(
      fc.oneof(
        op.filter((step) => step.op === "submit"),
        op.filter((step) => step.op === "cancel" || step.op === "reserve"),
      ),
      {
        minLength: 10,
        maxLength: 80,
      },
    );
    await fc.assert(
      fc.asyncProperty(steps, async (all) => {
        const t = await openEngine();
        try {
          const run: Run = { t, ids: [], leases: [], dead: [] };
          for (const step of all) {
            await play(run, step.op === "submit" ? { ...step, priority: 3 } : step);
            const line = await lineOf(run);
            for (const key of KEYS) {
              const own = line.filter((id) => id.startsWith(key));
              expect(own).to.deep.equal([...own].sort((a, b) => Number(a.slice(1)) - Number(b.slice(1))));
            }
          }
        } finally {
          await t.close();
        }
      }),
      { numRuns: 40 },
    );
  });
});
