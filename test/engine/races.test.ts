import { setTimeout as delay } from "node:timers/promises";
import { expect } from "chai";
import type { Lease } from "../../src/store/verbs/lease.ts";
import { failureOf, openEngine, resultOf, type TestEngine } from "../helpers/engine.ts";
import { uniquePrefix } from "../helpers/store/run-store.ts";
import { keysLike } from "../helpers/store/scan.ts";
import { QUEUE, TASK } from "../helpers/store/stored.ts";
import { submissionOf } from "../shared/submission.ts";

/** Clients, each on connections of its own. */
const CLIENTS = 8;
/** How often each race is run; all at once, so that they cross one another. */
const ROUNDS = 120;

describe("two clients at once", () => {
  let clients: TestEngine[];
  let one: TestEngine;
  let two: TestEngine;

  beforeEach(async () => {
    const prefix = uniquePrefix();
    const settings = { attempts: 1, maxLost: 1 };
    clients = await Promise.all(Array.from({ length: CLIENTS }, () => openEngine({ prefix, settings })));
    [one, two] = clients as [TestEngine, TestEngine];
  });
  afterEach(async () => {
    const { tasks } = await dumpStates(one);
    await Promise.all(clients.map((client) => client.close()));
    expect(tasks, "tasks that are in no index of their state, or in two").to.deep.equal([]);
  });

  const ids = Array.from({ length: ROUNDS }, (_, n) => `r${n}`);
  const look = (id: string) => one.look(id);

  /** Submits all ids and takes them; returns their leases. */
  const running = async (leaseMs = 60_000): Promise<Lease[]> => {
    await Promise.all(ids.map((id) => one.submit({ id })));
    const leases: Lease[] = [];
    while (leases.length < ids.length) {
      for (const { id, fence } of await one.reserve(100, { leaseMs })) leases.push({ queue: "jobs", id, fence });
    }
    return leases;
  };

  /** Lets two calls meet, and now and then the one or the other come first for sure; counts the pairs of answers. */
  const meet = async <T>(
    of: readonly T[],
    first: (item: T) => Promise<unknown>,
    second: (item: T) => Promise<unknown>,
  ) => {
    const counts: Record<string, number> = {};
    await Promise.all(
      of.map(async (item, n) => {
        const late = (call: (item: T) => Promise<unknown>, ms: number) => delay(ms).then(() => call(item));
        const ahead = n % 10 === 0 ? await first(item) : undefined;
        const answer = n % 10 === 1 ? await second(item) : undefined;
        const pair = await Promise.all([ahead ?? late(first, n % 5), answer ?? late(second, (n * 3) % 5)]);
        const key = pair.map((answer) => String(answer)).join(" ");
        counts[key] = (counts[key] ?? 0) + 1;
      }),
    );
    return counts;
  };

  it("completing a task: the first wins, and the other gets `already`", async () => {
    const leases = await running();
    const pairs = await meet(
      leases,
      (lease) => one.engine.leases.complete(lease, resultOf("one"), one.settings),
      (lease) => two.engine.leases.complete(lease, resultOf("two"), two.settings),
    );
    expect(pairs).to.have.all.keys("done already", "already done");
    const texts = await Promise.all(ids.map(async (id) => (await look(id)).result?.body.toString()));
    expect(texts.filter((text) => text === "one")).to.have.length(pairs["done already"] ?? 0);
    expect(texts.filter((text) => text === "two")).to.have.length(pairs["already done"] ?? 0);
  });

  it("completing and canceling leave a task succeeded and deleted, or canceled", async () => {
    const leases = await running();
    const pairs = await meet(
      leases,
      (lease) => one.engine.leases.complete(lease, resultOf("x"), one.settings),
      (lease) => two.engine.call("cancel", { id: lease.id, queue: "jobs" }),
    );
    expect(pairs).to.have.all.keys("done deleted", "canceled requested");
    const states = await Promise.all(ids.map(look));
    expect(states.filter((seen) => seen.state === "canceled")).to.have.length(pairs["canceled requested"] ?? 0);
    expect(states.filter((seen) => seen.state === "succeeded" && seen.deleted && seen.result === null)).to.have.length(
      pairs["done deleted"] ?? 0,
    );
  });

  it("completing and losing leave a task done, or waiting at its place with the completion refused", async () => {
    const leases = await running();
    await Promise.all(ids.map((id, n) => one.redis.zadd(one.key("leases"), "XX", n + 1, id)));
    const lost: string[] = [];
    const verdicts = await Promise.all([
      ...leases.map(async (lease, n) => {
        await delay(n % 4);
        return one.engine.leases.complete(lease, resultOf("x"), one.settings);
      }),
      // The first tick takes what is left: here it comes into the middle.
      delay(2).then(async () => {
        lost.push(...(await two.engine.maintenance.tick(0)).lost.map((task) => task.id));
        return "ticked";
      }),
    ]);
    for (const [n, { id }] of leases.entries()) {
      expect(verdicts[n], id).to.equal(lost.includes(id) ? "stale" : "done");
      expect(await look(id)).to.include(
        lost.includes(id) ? { state: "waiting", lost: 1, attempts: 0 } : { state: "succeeded", lost: 0, attempts: 1 },
      );
    }
  });

  it("releasing and losing refund the attempt once", async () => {
    const leases = await running();
    await Promise.all(ids.map((id, n) => one.redis.zadd(one.key("leases"), "XX", n + 1, id)));
    const pairs = await meet(
      leases,
      (lease) => one.engine.call("release", lease),
      (lease) => two.engine.call("lose", lease),
    );
    expect(pairs).to.have.all.keys("released stale", "stale waiting");
    for (const id of ids) expect(await look(id)).to.include({ state: "waiting", attempts: 0 });
    expect(await one.redis.hget(one.key("queue"), QUEUE.lost)).to.equal(String(pairs["stale waiting"]));
  });

  it("canceling and reserving leave a task canceled, or its worker asked to stop", async () => {
    await Promise.all(ids.map((id) => one.submit({ id })));
    const taken: string[] = [];
    const verdicts = await Promise.all([
      ...ids.map(async (id, n) => {
        await delay(n % 4);
        return one.engine.call("cancel", { id, queue: "jobs" });
      }),
      ...clients.map(async (client, n) => {
        await delay(n % 4);
        taken.push(...(await client.reserve(5, { worker: `w${n}` })).map((task) => task.id));
        return "taken";
      }),
    ]);
    for (const [n, id] of ids.entries()) {
      expect(verdicts[n], id).to.equal(taken.includes(id) ? "requested" : "canceled");
      expect(await look(id)).to.include(
        taken.includes(id)
          ? { state: "running", cancelRequested: true }
          : { state: "canceled", cancelRequested: false },
      );
    }
    expect(new Set(taken).size, "each taken once").to.equal(taken.length);
  });

  it("canceling wins over promoting, whichever comes first", async () => {
    await Promise.all(ids.map((id) => one.submit({ id, delayMs: 60_000 })));
    await Promise.all(ids.map((id) => one.makeDue(id)));
    const verdicts = await Promise.all([
      ...ids.map(async (id, n) => {
        await delay(n % 4);
        return one.engine.call("cancel", { id, queue: "jobs" });
      }),
      delay(2).then(() => two.engine.maintenance.tick(0)),
    ]);
    expect(new Set(verdicts.slice(0, -1))).to.deep.equal(new Set(["canceled"]));
    expect(await two.engine.maintenance.tick(0)).to.include({ promoted: 0 });
    expect(await one.redis.exists(one.key("waiting"), one.key("scheduled"))).to.equal(0);
  });

  it("failing and completing end an attempt once", async () => {
    const leases = await running();
    const pairs = await meet(
      leases,
      (lease) => one.engine.leases.complete(lease, resultOf("x"), one.settings),
      (lease) => two.engine.leases.fail(lease, failureOf("retry"), two.settings),
    );
    expect(pairs).to.have.all.keys("done already", "already dead");
    expect(await one.redis.zcard(one.key("dead"))).to.equal(pairs["already dead"]);
    const [lease] = leases;
    if (lease) expect(await one.engine.leases.fail(lease, failureOf("give-up"), one.settings)).to.equal("already");
  });

  it("submitting under one id: one creates the task, the other replays it or gets a conflict", async () => {
    const submit = (client: TestEngine, input: string) => (id: string) =>
      client.submit({ id, input }).then(({ verdict }) => verdict);
    expect(await meet(ids, submit(one, "1"), submit(two, "1"))).to.have.all.keys("new replay", "replay new");
    expect(await one.redis.zcard(one.key("waiting"))).to.equal(ids.length);
    const others = ids.map((id) => `other-${id}`);
    const pairs = await meet(others, submit(one, '"one"'), submit(two, '"two"'));
    expect(pairs).to.have.all.keys("new conflict", "conflict new");
    const inputs = await Promise.all(others.map((id) => one.redis.hget(one.key("task", id), TASK.input)));
    expect(inputs.filter((input) => input === '"one"')).to.have.length(pairs["new conflict"] ?? 0);
  });

  it("updating and reserving: the worker gets exactly the input that an update reported as accepted", async () => {
    await Promise.all(ids.map((id) => one.submit({ id, input: '"old"' })));
    const taken = new Map<string, string>();
    const verdicts = await Promise.all([
      ...ids.map(async (id, n) => {
        await delay(n % 4);
        return one.engine.submitter.update(submissionOf(id, "jobs", '"new"'), one.settings);
      }),
      ...clients.map(async (client, n) => {
        await delay(n % 4);
        for (const task of await client.reserve(8, { worker: `w${n}` })) taken.set(task.id, task.input.toString());
        return "taken";
      }),
    ]);
    for (const [id, input] of taken) {
      expect(input, id).to.equal(verdicts[ids.indexOf(id)] === "updated" ? '"new"' : '"old"');
    }
    expect(taken.size).to.equal(8 * CLIENTS);
  });

  it("retrying and deleting a dead task: one of them wins", async () => {
    const leases = await running();
    await Promise.all(leases.map((lease) => one.engine.leases.fail(lease, failureOf("retry"), one.settings)));
    const deleted: Promise<number>[] = [];
    const verdicts = await Promise.all(
      ids.map(async (id, n) => {
        await delay(n % 6);
        if (n === 2) deleted.push(two.engine.deadLetters.deleteAll("jobs"));
        return one.engine.call("retry", { id, queue: "jobs" });
      }),
    );
    const [count = 0] = await Promise.all(deleted);
    expect(verdicts.filter((verdict) => verdict === "waiting")).to.have.length(ids.length - count);
    for (const [n, id] of ids.entries()) {
      expect(await look(id)).to.include(
        verdicts[n] === "waiting" ? { state: "waiting", deleted: false } : { state: "failed", deleted: true },
      );
    }
  });

  it("eight ticks promote each due task once and count each loss once", async () => {
    // As many as eight calls may move, and four may take back.
    const due = Array.from({ length: 400 }, (_, n) => `d${n}`);
    await Promise.all(due.map((id) => one.submit({ id, delayMs: 60_000 })));
    await Promise.all(due.map((id, n) => one.redis.zadd(one.key("scheduled"), "XX", n + 1, id)));
    const ticks = await Promise.all(
      clients.flatMap((client) => [client.engine.maintenance.tick(0), client.engine.maintenance.tick(0)]),
    );
    expect(ticks.reduce((sum, tick) => sum + tick.promoted, 0)).to.equal(due.length);
    expect(await one.redis.zrange(one.key("waiting"), "0", "-1")).to.deep.equal(due);
    const taken = await Promise.all(clients.map((client, n) => client.reserve(20, { worker: `w${n}` })));
    await Promise.all(taken.flat().map((task) => one.endLease(task.id)));
    const lost = (await Promise.all(clients.map((client) => client.engine.maintenance.tick(0)))).flatMap(
      (tick) => tick.lost,
    );
    expect(lost.map((task) => task.id).sort()).to.deep.equal(
      taken
        .flat()
        .map((task) => task.id)
        .sort(),
    );
    expect(await one.redis.zrange(one.key("waiting"), "0", "-1")).to.deep.equal(due);
  });

  it("eight reservations give each task to one worker, under its own fence", async () => {
    const all = Array.from({ length: 1000 }, (_, n) => `t${n}`);
    await Promise.all(all.map((id) => one.submit({ id })));
    const taken = await Promise.all(
      clients.map(async (client, n) => {
        const mine = [];
        for (;;) {
          const some = await client.reserve(7, { worker: `w${n}` });
          if (some.length === 0) return mine;
          mine.push(...some);
        }
      }),
    );
    expect(taken.flat().map((task) => task.id)).to.have.members(all);
    expect(new Set(taken.flat().map((task) => task.fence)).size).to.equal(all.length);
    for (const mine of taken) {
      const places = mine.map((task) => all.indexOf(task.id));
      expect(places, "in line order").to.deep.equal([...places].sort((a, b) => a - b));
    }
  });
});

/** The ids of tasks whose state and index disagree. */
async function dumpStates({ redis, scripts, keys, key }: TestEngine): Promise<{ tasks: string[] }> {
  const found = await keysLike(redis, key("task", "*"));
  const tasks: string[] = [];
  for (let n = 0; n < found.length; n += 100) {
    const ids = found.slice(n, n + 100).map((name) => name.slice(key("task", "").length));
    tasks.push(...(await scripts.verify(keys.tag(0), { ids, heal: true })));
  }
  return { tasks };
}
