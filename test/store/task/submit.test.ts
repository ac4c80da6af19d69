import { expect } from "chai";
import * as fc from "fast-check";
import type { SubmitItem } from "../../../src/store/task/submit.ts";
import { contents } from "../../engine/resend/dump.ts";
import { openEngine, type TestEngine } from "../../helpers/engine.ts";
import { removeKeysLike } from "../../helpers/store/scan.ts";
import { TASK } from "../../helpers/store/stored.ts";
import { submitItemOf } from "../../shared/submission.ts";

type Given = Parameters<typeof submitItemOf>[0];

const LONG = "x".repeat(200);
/** What sets a task apart from a plain one. */
const OWN: readonly Given[] = [
  ...[{ caller: "ann" }, { priority: 0 }, { priority: 7, caller: "ann", mediaType: "text/plain", query: '{"a":"b"}' }],
  ...[{ delayMs: 60_000 }, { maxIndex: 2 }, { dryRun: true }, { webhook: "https://example.com/" }, { undo: true }],
  ...[
    { deadlineMs: 60_000 },
    { presenceMs: 30_000 },
    { limit: 4 },
    { queue: "others" },
    { input: "2" },
    { trace: "00-1-2-01" },
  ],
  ...[
    { input: LONG, digest: "d".repeat(32) },
    { input: LONG + LONG, digest: "e".repeat(32) },
  ],
  ...[{ listener: "p1" }, { listener: "p2" }],
];
const FAIR: readonly Given[] = [{ share: "1 =k" }, { share: "2 =l" }];
const KEYED: readonly Given[] = [{ key: "1 =k" }, { key: "1 =l" }, { key: "1" }, { key: "2 =k" }];
const LIMITED: readonly Given[] = [{ key: "1/2 =k" }, { key: "1/3 =l" }, { key: "1/" }, { key: "2/2 =k" }];

/** Calls of tasks that are mostly plain, in runs, some of them under the same id. */
const callsWith = (own: readonly Given[], rest: Given) =>
  fc
    .array(
      fc.array(
        fc.record({
          id: fc.constantFrom(..."abcdefghijklmnopqrstuvwx"),
          own: fc.oneof({ weight: 3, arbitrary: fc.constant({}) }, fc.constantFrom(...own)),
          length: fc.integer({ min: 1, max: 3 }),
        }),
        { maxLength: 6 },
      ),
      { minLength: 1, maxLength: 3 },
    )
    .map((calls) =>
      calls.map((runs) =>
        runs.flatMap(({ id, own: some, length }) =>
          Array.from(
            { length },
            (_, n): SubmitItem => submitItemOf({ ...rest, ...some, id: n === 0 ? id : `${id}${n}` }),
          ),
        ),
      ),
    );

describe("submissions in one call", () => {
  let together: TestEngine;
  let apart: TestEngine;
  beforeEach(async () => {
    [together, apart] = await Promise.all([openEngine(), openEngine()]);
  });
  afterEach(async () => {
    await Promise.all([together.close(), apart.close()]);
  });

  const submit = async ({ scripts, keys }: TestEngine, items: readonly SubmitItem[]) => {
    const { verdicts } = await scripts.submit(keys.tag(0), items);
    return verdicts.map(({ verdict, state, index, turn }) => ({ verdict, state, index, turn }));
  };
  const clear = ({ redis, keys }: TestEngine) => removeKeysLike(redis, `${keys.tag(0)}*`);

  /** Tasks that are due in the same millisecond stand by their ids. */
  const stored = async ({ redis, keys }: TestEngine) => {
    const all = Object.entries(await contents(redis, keys.tag(0)));
    return all.map(([key, of]) =>
      /^(?:[cd]|pk):/.test(key) ? [key, JSON.stringify(of).split(/\W/).sort()] : [key, of],
    );
  };

  for (const [kind, own, rest] of [
    ["plain", OWN, {}],
    ["fair", [...OWN, ...FAIR], { share: "1 =m" }],
    ["keyed", [...OWN, ...KEYED], { key: "1 =m" }],
    ["limited", [...OWN, ...LIMITED], { key: "1/4 =m" }],
  ] as const) {
    it(`have the effect of as many calls: ${kind}`, async () => {
      await fc.assert(
        fc.asyncProperty(callsWith(own, rest), async (calls) => {
          await Promise.all([clear(together), clear(apart)]);
          for (const items of calls.filter((call) => call.length > 0)) {
            const all = await submit(together, items);
            for (const [n, item] of items.entries()) expect(all[n]).to.deep.equal((await submit(apart, [item]))[0]);
          }
          const [ours, theirs] = await Promise.all([together, apart].map(stored));
          expect(ours).to.deep.equal(theirs);
        }),
        { numRuns: 25 },
      );
    });
  }

  it("get the turns of their line keys", async () => {
    const keyed = [..."abc"].map((id) => submitItemOf({ id, key: "1 =k" }));
    const all = await submit(together, [...keyed, submitItemOf({ id: "d", key: "1 =l" })]);
    expect(all.map(({ turn }) => turn)).to.deep.equal([
      { before: 0, ends: 0, limit: 1 },
      ...[1, 2].map((ends) => ({ before: 1, ends, limit: 1 })),
      { before: 1, ends: 0, limit: 1 },
    ]);
    expect(await submit(apart, [submitItemOf({ id: "a" })])).to.deep.equal([
      { verdict: "new", state: "waiting", index: 0, turn: null },
    ]);
  });

  it("are told what waits and runs for their line key if there is too much of it", async () => {
    const limited = (id: string, given: Given = {}) => submitItemOf({ id, key: "1/1 =k", ...given });
    const reached = async (item: SubmitItem) =>
      (await together.scripts.submit(together.keys.tag(0), [item])).verdicts[0]?.reached;
    await submit(together, [limited("a")]);
    await together.reserve();
    await submit(together, [limited("b")]);
    expect(await reached(limited("c"))).to.deep.equal({
      ...{ limit: 1, waiting: 1, running: 1 },
      first: { state: "waiting", index: 0, dueInMs: null, turn: { before: 0, ends: 1, limit: 1 } },
    });
    await together.engine.call("cancel", { id: "b", queue: "jobs" });
    await submit(together, [limited("d", { delayMs: 60_000 })]);
    const { first, ...counts } = (await reached(limited("e"))) ?? {};
    expect(counts).to.deep.equal({ limit: 1, waiting: 1, running: 1 });
    expect(first).to.include({ state: "scheduled", index: null, turn: null });
    expect(first?.dueInMs).to.be.within(30_000, 60_000);
  });

  it("are stored with the process that waits for their end, whatever else they ask for", async () => {
    const own: readonly Given[] = [
      {},
      { deadlineMs: 60_000 },
      { delayMs: 60_000 },
      { trace: "00-1-2-01" },
      { share: "1 =k" },
    ];
    for (const [n, some] of own.entries()) {
      await submit(together, [submitItemOf({ id: `t${n}`, listener: "p1", ...some })]);
      const listeners = await together.redis.hget(together.key("task", `t${n}`), TASK.listeners);
      expect(listeners, JSON.stringify(some)).to.equal(".p1");
    }
  });

  it("are stored even if an entry without a task is in line", async () => {
    await together.redis.zadd(together.key("waiting"), 1, "b");
    const all = await submit(
      together,
      [..."abc"].map((id) => submitItemOf({ id })),
    );
    expect(all.map(({ verdict }) => verdict)).to.deep.equal(["new", "new", "new"]);
    expect((await together.reserve(3)).map(({ id }) => id)).to.deep.equal(["a", "b", "c"]);
  });
});
