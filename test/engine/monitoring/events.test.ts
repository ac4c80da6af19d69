import { expect } from "chai";
import type { AboutWorker } from "../../../src/engine/monitoring/workers.ts";
import { openEngine, type TestEngine } from "../../helpers/engine.ts";

const ABOUT: AboutWorker = { kind: "process", host: "h", pid: 7, role: "all", version: "1.0.0", startedMs: 5 };
const TTL_MS = 60_000;

describe("what happened", () => {
  let t: TestEngine;
  beforeEach(async () => {
    t = await openEngine({ settings: { maxWaiting: 10 } });
  });
  afterEach(() => t.close());

  const beat = (worker: string, ttlMs = TTL_MS, about?: AboutWorker) =>
    t.engine.workers.heartbeat(worker, ttlMs, new Map([["jobs", 1]]), about && { about });
  const tasks = () => t.engine.workers.tasksByEnd(["jobs"]);
  const look = () => t.engine.events.look(tasks);
  /** As if its heartbeats had ended, and others had been looking all the time. */
  const fallSilent = async (...workers: string[]) => {
    await look();
    await t.redis.hset(t.key("states"), "grace", 0);
    for (const worker of workers) await t.redis.zadd(t.key("present"), "XX", 1, worker);
  };
  const pause = (paused: boolean) => t.engine.events.paused("jobs", paused, "ann");
  const fill = async (count: number) => {
    for (let n = 0; n < count; n += 1) await t.submit();
  };
  const refuse = async () => expect((await t.submit()).verdict).to.equal("full");
  const all = async () => {
    const events = await t.engine.events.latest(200);
    for (const { atMs } of events) expect(Date.now() - atMs).to.be.within(-1000, 30_000);
    return events.map(({ id: _, atMs: __, ...event }) => event).reverse();
  };

  const table: Readonly<Record<string, { does(): Promise<unknown>; tells: readonly object[] }>> = {
    "workers that start and stop, once each": {
      async does() {
        for (const ttl of [TTL_MS, TTL_MS, 0, 0]) await beat("w1", ttl, ABOUT);
      },
      tells: [
        { kind: "worker-started", worker: "w1", detail: "queues jobs" },
        { kind: "worker-stopped", worker: "w1" },
      ],
    },
    "a deploy once, when the first worker with other handlers starts, whichever of both start again meanwhile": {
      async does() {
        for (const [worker, app] of Object.entries({ a1: "1.0", a2: "1.0", b1: "1.1", a3: "1.0", b2: "1.1" }))
          await beat(worker, TTL_MS, { ...ABOUT, app });
        const jobs = await t.engine.histories.read(["jobs"], { intervals: 6, step: 1, afterS: 0 });
        expect(jobs.deploys.map(({ version }) => version)).to.deep.equal(["1.1", "1.0"]);
      },
      tells: ["a1", "1.0", "a2", "b1", "1.1", "a3", "b2"].map((name) =>
        name.includes(".")
          ? { kind: "deployed", detail: name }
          : { kind: "worker-started", worker: name, detail: "queues jobs" },
      ),
    },
    "a lost worker once, with the tasks that it has and those that it has just lost": {
      async does() {
        await fill(10);
        const taken = await t.reserve(10, { worker: "w1" });
        await beat("w1", TTL_MS, ABOUT);
        await fallSilent("w1");
        for (const { id } of taken.slice(0, 4)) await t.endLease(id);
        await t.engine.upkeep.tick(0);
        await Promise.all([look(), look()]);
      },
      tells: [
        { kind: "worker-started", worker: "w1", detail: "queues jobs" },
        { kind: "worker-lost", worker: "w1", count: 10, tasks: "10 ids" },
      ],
    },
    "a program over HTTP that has fallen silent: with tasks it is lost, without any it has stopped after a while": {
      async does() {
        await t.submit({ id: "one" });
        await t.reserve(1, { worker: "busy" });
        await beat("idle", TTL_MS, { kind: "remote" });
        await beat("busy", TTL_MS, { kind: "remote" });
        await fallSilent("idle", "busy");
        await look();
        const until = Number(await t.redis.zscore(t.key("present"), "idle"));
        expect(until - Date.now()).to.be.within(570_000, 601_000);
        // It has been silent for that long.
        await t.redis.zadd(t.key("present"), "XX", 1.5, "idle");
        await look();
        await look();
      },
      tells: [
        { kind: "worker-started", worker: "idle", detail: "over HTTP; queues jobs" },
        { kind: "worker-started", worker: "busy", detail: "over HTTP; queues jobs" },
        { kind: "worker-lost", worker: "busy", count: 1, tasks: ["one"] },
        { kind: "worker-stopped", worker: "idle" },
      ],
    },
    "a program over HTTP that asks for work now and then once, not each time": {
      async does() {
        for (let n = 0; n < 5; n += 1) {
          await beat("poller", TTL_MS, { kind: "remote" });
          await fallSilent("poller");
          await look();
        }
      },
      tells: [{ kind: "worker-started", worker: "poller", detail: "over HTTP; queues jobs" }],
    },
    "no lost worker while heartbeats could not arrive": {
      async does() {
        await beat("w1", TTL_MS, ABOUT);
        await fallSilent("w1");
        await t.redis.hset(t.key("states"), "looked", 1);
        await look();
      },
      tells: [{ kind: "worker-started", worker: "w1", detail: "queues jobs" }],
    },
    "a pause and its end, once each, and who did it": {
      async does() {
        for (const paused of [true, true, false, false]) await pause(paused);
      },
      tells: [
        { kind: "queue-paused", queue: "jobs", by: "ann" },
        { kind: "queue-resumed", queue: "jobs", by: "ann" },
      ],
    },
    "a full queue, never a refusal, and when it has drained": {
      async does() {
        await fill(10);
        for (let n = 0; n < 3; n += 1) await refuse();
        await look();
        await refuse();
        await t.reserve(1);
        await look();
        await look();
      },
      tells: [
        { kind: "queue-full", queue: "jobs", detail: "10 tasks wait" },
        { kind: "queue-drained", queue: "jobs" },
      ],
    },
    "a full store once, whichever processes it refuses, and when it has had room for a while": {
      async does() {
        const other = await openEngine({ prefix: t.keys.prefix });
        const refuseBoth = (first: number, second: number) => {
          for (let n = 0; n < first; n += 1) t.engine.events.refusedByStore();
          for (let n = 0; n < second; n += 1) other.engine.events.refusedByStore();
        };
        const lookBoth = async () => {
          for (const { engine } of [t, other]) await engine.events.look(tasks);
        };
        const told = () => [t, other].map(({ engine }) => engine.events.fullStore);
        refuseBoth(1999, 1);
        await lookBoth();
        refuseBoth(1, 0);
        await lookBoth();
        await lookBoth();
        expect(told()).to.deep.equal(Array(2).fill("the store is full: 2,001 submissions refused in 1 s"));
        const now = Date.now();
        await t.redis.hset(t.key("refusals"), "since", now - 340_000, "latest", now - 40_000);
        await lookBoth();
        await lookBoth();
        expect(told()).to.deep.equal([undefined, undefined]);
        refuseBoth(0, 1);
        await lookBoth();
        await lookBoth();
        expect(told()).to.deep.equal(Array(2).fill("the store is full: 1 submission refused in 1 s"));
        // Its keys are those of the other.
        other.redis.disconnect();
      },
      tells: [
        { kind: "store-full" },
        { kind: "store-drained", detail: "after 300 s, in which 2001 submissions were refused" },
        { kind: "store-full" },
      ],
    },
    "an API behind a gateway that goes down, and is up again": {
      async does() {
        for (const reason of ["ECONNREFUSED", "ECONNREFUSED", undefined, undefined])
          await t.engine.events.target("jobs", reason);
      },
      tells: [
        { kind: "target-down", queue: "jobs", detail: "ECONNREFUSED" },
        { kind: "target-up", queue: "jobs" },
      ],
    },
    "an absence of the store once, whoever tells of it": {
      async does() {
        for (const ms of [9000, 8000, 9500]) await t.engine.events.storeWasAway(ms);
      },
      tells: [{ kind: "store-away", detail: "for 9 s" }],
    },
  };
  for (const [what, { does, tells }] of Object.entries(table)) {
    it(`tells of ${what}`, async () => {
      await does();
      const events = await all();
      const shown = events.map((event) =>
        (event.tasks?.length ?? 0) > 1 ? { ...event, tasks: `${new Set(event.tasks).size} ids` } : event,
      );
      expect(shown).to.have.deep.members(tells as typeof shown);
      expect(shown[0]).to.deep.equal(tells[0]);
    });
  }

  it("lists a lost worker for an hour, unless it comes back", async () => {
    const lost = async () => {
      const { workers } = await t.engine.workers.list(["jobs"]);
      return workers.filter(({ lostMs }) => lostMs !== null).map(({ id, about }) => ({ id, about }));
    };
    for (const worker of ["w1", "w2"]) await beat(worker, TTL_MS, ABOUT);
    await fallSilent("w1", "w2");
    await look();
    expect(await lost()).to.have.deep.members(["w1", "w2"].map((id) => ({ id, about: ABOUT })));
    await beat("w1", TTL_MS, ABOUT);
    expect(await lost()).to.deep.equal([{ id: "w2", about: ABOUT }]);
    await t.redis.zadd(t.key("lost"), Date.now() - 3_600_001, "w2");
    await look();
    expect(await lost()).to.deep.equal([]);
    expect(await t.redis.hlen(t.key("presentAbout"))).to.equal(1);
  });

  it("keeps what happened although programs over HTTP change their names with each request", async () => {
    await pause(true);
    const names = Array.from({ length: 1100 }, (_, n) => `name-${n}`);
    for (let n = 0; n < names.length; n += 100)
      await Promise.all(names.slice(n, n + 100).map((name) => beat(name, TTL_MS, { kind: "remote" })));
    // The server's own workers are told of all the same.
    await beat("w1", TTL_MS, ABOUT);
    const events = await t.engine.events.latest(1000);
    expect(events.map(({ kind }) => kind).filter((kind) => kind !== "worker-started")).to.deep.equal(["queue-paused"]);
    expect(events).to.have.lengthOf(202);
    expect(events[0]).to.include({ kind: "worker-started", worker: "w1" });
    expect(await t.redis.zcard(t.key("present"))).to.equal(1001);
    expect(await t.redis.hlen(t.key("presentAbout"))).to.equal(1001);
  });

  it("keeps the latest thousand", async () => {
    for (let n = 0; n < 1002; n += 1) await t.engine.events.note({ kind: "server-started", detail: `${n}` });
    const [newest] = await t.engine.events.latest(1);
    expect([newest?.detail, await t.redis.xlen(t.key("events"))]).to.deep.equal(["1001", 1000]);
  });
});
