import { expect } from "chai";
import type { Lease } from "../../src/store/task/lease.ts";
import { failureOf, openEngine, resultOf, type TestEngine } from "../helpers/engine.ts";
import { uniquePrefix } from "../helpers/store/run-store.ts";

/** How often each race is run; all at once, so that they cross one another. */
const ROUNDS = 60;
const CLIENTS = 4;

/** A client that does something with a task, and what it is answered. */
type Act = (t: TestEngine, lease: Lease) => Promise<string>;
const complete: Act = (t, lease) => t.engine.leases.complete(lease, resultOf("x"), t.settings);
const cancel: Act = (t, { id }) => t.engine.call("cancel", { id, queue: "jobs" });
const submit = (input: string) => (t: TestEngine, lease: Lease) =>
  t.submit({ id: `new-${lease.id}`, input }).then(({ verdict }) => verdict);

/** Two clients at once with a running task: the pairs of answers that they may get, and the states that each leaves. */
const RACES: Readonly<Record<string, { one: Act; two: Act; ends: Readonly<Record<string, object>> }>> = {
  "two complete it": {
    ...{ one: complete, two: complete },
    ends: { "done already": { state: "succeeded" }, "already done": { state: "succeeded" } },
  },
  "one completes it, one cancels it": {
    ...{ one: complete, two: cancel },
    ends: {
      "done deleted": { state: "succeeded", deleted: true, result: null },
      "canceled requested": { state: "canceled", result: null },
    },
  },
  "one completes it, one says that it failed": {
    ...{ one: complete, two: (t, lease) => t.engine.leases.fail(lease, failureOf("retry"), t.settings) },
    ends: { "done already": { state: "succeeded" }, "already dead": { state: "failed" } },
  },
  "one completes it, one says that its worker is lost": {
    ...{ one: complete, two: (t, lease) => t.engine.call("lose", lease) },
    ends: {
      "done stale": { state: "succeeded", lost: 0 },
      "stale waiting": { state: "waiting", lost: 1, attempts: 0 },
    },
  },
  "one hands it back, one says that its worker is lost": {
    ...{ one: (t, lease) => t.engine.call("release", lease), two: (t, lease) => t.engine.call("lose", lease) },
    ends: {
      "released stale": { state: "waiting", lost: 0, attempts: 0 },
      "stale waiting": { state: "waiting", lost: 1, attempts: 0 },
    },
  },
  "two submit another one under one id": {
    ...{ one: submit("1"), two: submit("1") },
    ends: { "new replay": {}, "replay new": {} },
  },
  "two submit different ones under one id": {
    ...{ one: submit("1"), two: submit("2") },
    ends: { "new conflict": {}, "conflict new": {} },
  },
};

describe("clients at once", () => {
  let clients: TestEngine[];
  let one: TestEngine;
  let two: TestEngine;
  beforeEach(async () => {
    const prefix = uniquePrefix();
    const settings = { attempts: 1, maxLost: 1 };
    clients = await Promise.all(Array.from({ length: CLIENTS }, () => openEngine({ prefix, settings })));
    [one, two] = clients as [TestEngine, TestEngine];
    await Promise.all(Array.from({ length: ROUNDS }, (_, n) => one.submit({ id: `t${n}` })));
  });
  afterEach(() => Promise.all(clients.map((client) => client.close())));

  for (const [name, race] of Object.entries(RACES)) {
    it(`with a task: ${name}`, async () => {
      const leases = (await one.reserve(ROUNDS)).map(({ id, fence }) => ({ queue: "jobs", id, fence }));
      expect(leases).to.have.length(ROUNDS);
      await Promise.all(
        leases.map(async (lease, n) => {
          // Now and then one of them comes first for sure.
          const ahead = n % 10 === 0 ? await race.one(one, lease) : undefined;
          const second = n % 10 === 1 ? await race.two(two, lease) : undefined;
          const pair = await Promise.all([ahead ?? race.one(one, lease), second ?? race.two(two, lease)]);
          expect(race.ends).to.have.property(pair.join(" "));
          expect(await one.look(lease.id)).to.include(race.ends[pair.join(" ")] ?? {});
        }),
      );
    });
  }

  it("take each task once, under its own fence, in the order of the line, and canceled ones not at all", async () => {
    const canceled = Array.from({ length: 20 }, (_, n) => ({ queue: "jobs", id: `t${n * 3}`, fence: "" }));
    const [verdicts, ...taken] = await Promise.all([
      Promise.all(canceled.map((task) => cancel(one, task))),
      ...clients.map(async (client, n) => {
        const mine = [];
        for (;;) {
          const some = await client.reserve(7, { worker: `w${n}` });
          if (some.length === 0) return mine;
          mine.push(...some);
        }
      }),
    ]);
    const ids = taken.flat().map(({ id }) => id);
    const gone = canceled.flatMap(({ id }, n) => (verdicts[n] === "canceled" ? [id] : []));
    expect([...ids, ...gone].sort()).to.deep.equal(Array.from({ length: ROUNDS }, (_, n) => `t${n}`).sort());
    expect(new Set(taken.flat().map(({ fence }) => fence)).size).to.equal(ids.length);
    for (const mine of taken) {
      const places = mine.map(({ id }) => Number(id.slice(1)));
      expect(places).to.deep.equal([...places].sort((a, b) => a - b));
    }
  });

  it("that tick bring each due task into the line once, and count each loss once", async () => {
    for (const { id } of await one.reserve(ROUNDS)) await one.endLease(id);
    await Promise.all(Array.from({ length: ROUNDS }, (_, n) => one.submit({ id: `due${n}`, delayMs: 60_000 })));
    for (let n = 0; n < ROUNDS; n += 1) await one.makeDue(`due${n}`);
    const ticks = await Promise.all(
      clients.flatMap(({ engine: { upkeep } }) => Array.from({ length: 4 }, () => upkeep.tick(0))),
    );
    expect(ticks.reduce((sum, tick) => sum + tick.promoted, 0)).to.equal(ROUNDS);
    expect(ticks.flatMap(({ lost }) => lost)).to.have.length(ROUNDS);
    expect(await one.redis.zcard(one.key("waiting"))).to.equal(2 * ROUNDS);
  });
});
