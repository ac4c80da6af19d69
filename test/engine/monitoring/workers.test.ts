import { expect } from "chai";
import type { AboutWorker } from "../../../src/engine/monitoring/workers.ts";
import { BUSY_MS } from "../../helpers/busy.ts";
import { openEngine, type TestEngine } from "../../helpers/engine.ts";

const TTL_MS = 60_000;
const ABOUT: AboutWorker = { kind: "process", host: "h", pid: 7, role: "all", version: "1.0.0", startedMs: 5 };

describe("the list of workers", () => {
  let t: TestEngine;
  beforeEach(async () => {
    t = await openEngine({ partitions: 3 });
  });
  afterEach(() => t.close());

  const list = async (...queues: string[]) => {
    const { workers, truncated } = await t.engine.workers.list(queues);
    expect(truncated).to.equal(false);
    return workers;
  };
  const take = (worker: string) => t.reserve(10, { worker });

  it("has what each says of itself, its slots in all queues, and its tasks", async () => {
    const ids = ["a", "b", "c", "d", "e"];
    for (const id of ids) await t.submit({ id });
    const many = Array.from({ length: 10 }, (_, n) => `q${n}`);
    const slots = new Map(["jobs", ...many].map((queue, n) => [queue, n + 1]));
    expect(new Set([...slots.keys()].map((queue) => t.keys.partitionOfQueue(queue))).size).to.equal(3);
    await t.engine.workers.heartbeat("w1", TTL_MS, slots, { about: ABOUT });
    await take("w1");
    const [worker, ...rest] = await list("jobs", ...many, "others");
    expect(rest).to.deep.equal([]);
    expect([worker?.id, worker?.about, worker?.slots]).to.deep.equal(["w1", ABOUT, slots]);
    expect(Date.now() - (worker?.seenMs ?? 0)).to.be.within(-1000, 30_000);
    expect(worker?.running.map(({ id }) => id).sort()).to.deep.equal(ids);
    for (const { queue, startedMs, attempt } of worker?.running ?? []) {
      expect([queue, attempt]).to.deep.equal(["jobs", 1]);
      expect(Date.now() - (startedMs ?? 0)).to.be.within(-1000, 30_000);
    }
  });

  it("has a worker without heartbeats as long as it has tasks, and one without tasks as long as it has heartbeats", async () => {
    await t.submit({ id: "a" });
    await take("silent");
    const silent = { id: "silent", about: null, seenMs: null, slots: new Map() };
    const [only] = await list("jobs");
    expect(only).to.deep.include(silent);
    expect(only?.running.map(({ id }) => id)).to.deep.equal(["a"]);
    // A program that leases tasks over HTTP says nothing of itself.
    await t.engine.workers.heartbeat("idle", TTL_MS, new Map([["jobs", 1]]));
    const [idle, ...others] = await list("jobs");
    expect(idle).to.deep.include({ id: "idle", about: { kind: "remote" }, seenMs: null, running: [] });
    expect(others.map(({ id }) => id)).to.deep.equal(["silent"]);
    await t.engine.workers.heartbeat("idle", 0, new Map([["jobs", 1]]));
    expect((await list("jobs")).map(({ id }) => id)).to.deep.equal(["silent"]);
  });

  it("has a silent worker for five minutes at most, also if the clock was set back since its last heartbeat", async () => {
    const hourMs = 3_600_000;
    const slots = new Map([["jobs", 1]]);
    // As if its heartbeat had been at a later time.
    await t.engine.workers.heartbeat("silent", hourMs, slots);
    await t.engine.workers.heartbeat("w", TTL_MS, slots);
    expect((await list("jobs")).map(({ id }) => id)).to.have.members(["silent", "w"]);
    const until = Number(await t.redis.zscore(t.key("workers"), "silent"));
    expect(until - Date.now()).to.be.within(TTL_MS, 300_000 + BUSY_MS);
  });

  it("says that it has left out some", async () => {
    for (let n = 0; n < 200; n += 1) await t.engine.workers.heartbeat(`w${n}`, TTL_MS, new Map([["jobs", 1]]));
    expect((await t.engine.workers.list(["jobs"])).truncated).to.equal(true);
  });
});
