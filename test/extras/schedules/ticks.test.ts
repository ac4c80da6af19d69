import { expect } from "chai";
import type { QueueSettings } from "../../../src/engine/settings.ts";
import { readDefinition, taskIdOf } from "../../../src/extras/schedules/definition.ts";
import { missedFaults } from "../../../src/extras/schedules/missed.ts";
import { lastOf, scheduleDocument } from "../../../src/extras/schedules/routes.ts";
import { Schedules } from "../../../src/extras/schedules/schedules.ts";
import { ScheduleTicker } from "../../../src/extras/schedules/ticker.ts";
import { defineHandler, type Handler } from "../../../src/handler/define.ts";
import { createLog } from "../../../src/log.ts";
import { openEngine, type TestEngine } from "../../helpers/engine.ts";
import { type ClockedRedis, canSetClocks, startClockedRedis } from "../../helpers/store/clocked-redis.ts";

const HOUR_MS = 3_600_000;

/** A process that ticks when the test wants it to. */
interface Process {
  readonly schedules: Schedules;
  tick(): Promise<unknown>;
}

describe("ticks of schedules", () => {
  let redis: ClockedRedis;
  let t: TestEngine;
  let aheadMs = 0;
  before(async function () {
    if (!canSetClocks()) this.skip();
    redis = await startClockedRedis();
  });
  after(() => redis?.stop());
  beforeEach(async () => {
    await open();
  });
  afterEach(() => t?.close());

  const open = async (settings: Partial<QueueSettings> = {}) => {
    t = await openEngine({ url: redis.url, partitions: 2, settings });
  };

  /** A process with this handler of the queue `jobs`. */
  const process = (declared?: Handler["schedules"], queues = ["jobs"], startedMs = performance.now()): Process => {
    const handlers = queues.map((queue) =>
      defineHandler({ queue, schedules: declared, run: () => undefined } as never),
    );
    const log = createLog("silent");
    const parts = { engine: t.engine, handlers: new Map(handlers.map((handler) => [handler.queue, handler])), log };
    const schedules = new Schedules(parts);
    const ticker = new ScheduleTicker({ schedules, startedMs, late: { set: () => undefined }, ...parts });
    return { schedules, tick: () => ticker.tick() };
  };
  /** Lets time pass; while processes live, each ticks every few seconds. */
  const pass = (ms: number) => {
    aheadMs += ms;
    redis.setAhead(aheadMs);
  };
  const definition = (more: object = {}) => readDefinition({ queue: "jobs", input: { n: 1 }, every: "1h", ...more });
  /** The times at which it was due, from when it was made. */
  const dueTimes = async ({ schedules }: Process, id: string, count: number): Promise<number[]> => {
    const { row } = await schedules.find(id);
    const from = Math.floor((row?.createdMs ?? 0) / 1000) * 1000;
    return Array.from({ length: count }, (_, n) => from + (n + 1) * HOUR_MS);
  };
  const isStored = async (id: string) => (await t.engine.inspector.inspect(id, { result: false })) !== null;
  /** Which of these due times have a task. */
  const submitted = async (id: string, times: readonly number[]) =>
    Promise.all(times.map((ms) => isStored(taskIdOf(id, ms))));
  const look = async ({ schedules }: Process, id: string) => {
    const { row, nowMs } = await schedules.find(id);
    if (!row) throw new Error(`no schedule ${id}`);
    return scheduleDocument(row, await lastOf(t.engine, row), nowMs);
  };
  const submitAs = async ({ schedules }: Process, id: string, identity?: string) => {
    const submission = await schedules.submissionOf(id, definition(), identity);
    await t.engine.submitter.submit(submission, t.engine.queues.settings("jobs"));
  };
  const waiting = async () => (await t.engine.queues.figures(["jobs"]))[0]?.snapshot.waiting;

  it("submits a due time once, however many processes look at the same moment", async () => {
    const processes = Array.from({ length: 5 }, () => process());
    const [first] = processes as [Process];
    await first.schedules.put("hourly", definition({ label: "by the clock", priority: 1 }));
    const tickAll = () => Promise.all(processes.map(({ tick }) => tick()));
    await tickAll();
    const times = await dueTimes(first, "hourly", 2);
    for (const [n] of times.entries()) {
      pass(HOUR_MS);
      await tickAll();
      expect(await waiting()).to.equal(n + 1);
    }
    const last = { id: taskIdOf("hourly", times[1] ?? 0), at: new Date(times[1] ?? 0).toISOString(), state: "waiting" };
    const shown = await look(first, "hourly");
    expect(shown.last).to.deep.equal(last);
    expect(shown.next.map((next) => Date.parse(next) - (times[1] ?? 0))).to.eql(
      [1, 2, 3, 4, 5].map((n) => n * HOUR_MS),
    );
    const task = await t.engine.inspector.inspect(last.id, { result: false });
    expect(task).to.include({ caller: null, label: "by the clock" });
  });

  it("knows the task of a due time whose process died after it was stored, whatever the input is by then", async () => {
    const one = process();
    await one.schedules.put("hourly", definition());
    await one.tick();
    const [dueMs = 0] = await dueTimes(one, "hourly", 1);
    pass(HOUR_MS);
    const id = taskIdOf("hourly", dueMs);
    await submitAs(one, id, id);
    await one.schedules.put("hourly", definition({ input: "another" }));
    await process().tick();
    expect(await waiting()).to.equal(1);
    expect((await look(one, "hourly")).last).to.deep.include({ id, state: "waiting" });
  });

  it("takes no other task for that of a due time, even of the same input", async () => {
    const one = process();
    await one.schedules.put("hourly", definition());
    await one.tick();
    const [dueMs = 0] = await dueTimes(one, "hourly", 1);
    pass(HOUR_MS);
    await submitAs(one, taskIdOf("hourly", dueMs));
    await one.tick();
    expect((await look(one, "hourly")).last?.state).to.equal("refused");
  });

  for (const [missed, stored] of [
    ["once", [false, false, true]],
    ["skip", [false, false, false]],
    ["all", [true, true, true]],
  ] as const) {
    it(`submits after hours without a process what its missed says: ${missed}`, async () => {
      await process().schedules.put("hourly", definition({ missed }));
      await process().tick();
      pass(3 * HOUR_MS);
      const restarted = process();
      const times = await dueTimes(restarted, "hourly", 4);
      await restarted.tick();
      expect(await submitted("hourly", times)).to.deep.equal([...stored, false]);
      const { last } = await look(restarted, "hourly");
      expect(last?.at).to.equal(new Date(times[2] ?? 0).toISOString());
      if (missed === "skip") expect(last?.state).to.equal("missed");
      const lost = { once: 2, skip: 3, all: 0 }[missed];
      expect((await look(restarted, "hourly")).history.map(({ state }) => state)).to.deep.equal(
        Array.from({ length: 3 }, (_, n) => (n < 3 - lost ? null : "missed")),
      );
      const latest = new Date(times[lost - 1] ?? 0).toISOString().slice(0, 16).replace("T", " ");
      const told = lost === 0 ? [] : [`hourly: missed ${lost}, the latest due at ${latest} UTC`];
      expect((await missedFaults(restarted.schedules)).map(({ text }) => text)).to.deep.equal(told);
      const events = await t.engine.events.latest(10);
      expect(events.filter(({ kind }) => kind === "schedule-missed").map(({ detail }) => detail)).to.deep.equal(told);
      pass(HOUR_MS);
      await restarted.tick();
      expect(await submitted("hourly", times.slice(3))).to.deep.equal([missed !== "skip"]);
      expect((await missedFaults(restarted.schedules)).length).to.equal(missed === "skip" ? 1 : 0);
    });
  }

  it("submits what fell due while the store paused and a process lived, whatever its missed says", async () => {
    const one = process(undefined, ["jobs"], performance.now() - HOUR_MS);
    await one.schedules.put("often", definition({ every: "2s", missed: "skip" }));
    await one.tick();
    const { row } = await one.schedules.find("often");
    const from = Math.floor((row?.createdMs ?? 0) / 1000) * 1000;
    pass(12_000);
    // It has started meanwhile.
    await process(undefined, ["elsewhere"]).tick();
    await one.tick();
    const times = [1, 2, 3, 4, 5, 6].map((n) => from + n * 2000);
    expect(await submitted("often", times)).to.deep.equal(Array(6).fill(true));
  });

  it("submits nothing twice when the clock of Redis is set back, and goes on at the next due time", async () => {
    const one = process();
    await one.schedules.put("hourly", definition());
    await one.tick();
    const times = await dueTimes(one, "hourly", 3);
    for (const ms of [HOUR_MS, HOUR_MS, -2 * HOUR_MS, HOUR_MS]) {
      pass(ms);
      await one.tick();
    }
    expect(await waiting()).to.equal(2);
    expect((await look(one, "hourly")).next[0]).to.equal(new Date(times[2] ?? 0).toISOString());
    pass(2 * HOUR_MS);
    await one.tick();
    expect(await submitted("hourly", times)).to.deep.equal([true, true, true]);
  });

  it("does not count what falls due while it is paused as missed", async () => {
    const one = process();
    await one.schedules.put("hourly", definition({ missed: "all" }));
    await one.tick();
    const times = await dueTimes(one, "hourly", 3);
    await one.schedules.put("hourly", definition({ missed: "all" }), { paused: true });
    expect((await look(one, "hourly")).next).to.deep.equal([]);
    pass(2.5 * HOUR_MS);
    await one.tick();
    await one.schedules.put("hourly", definition({ missed: "all" }));
    await one.tick();
    pass(HOUR_MS);
    await one.tick();
    expect(await submitted("hourly", times)).to.deep.equal([false, false, true]);
  });

  it("takes no more than a few long ones at a time", async () => {
    const one = process();
    const long = definition({ input: "x".repeat(700_000) });
    for (const id of ["a", "b", "c"]) await one.schedules.put(id, long);
    for (let looks = 0; looks < 2; looks += 1) await one.tick();
    pass(HOUR_MS);
    await one.tick();
    expect(await waiting()).to.equal(2);
    await one.tick();
    expect(await waiting()).to.equal(3);
  });

  it("tries what is refused for the moment until there is room, or until the next due time", async () => {
    await t.close();
    await open({ maxWaiting: 1 });
    const one = process();
    await one.schedules.put("hourly", definition());
    await one.tick();
    await t.submit({ id: "full" });
    const times = await dueTimes(one, "hourly", 3);
    pass(HOUR_MS);
    await one.tick();
    expect((await look(one, "hourly")).last?.state).to.equal("refused");
    pass(HOUR_MS / 2);
    await t.engine.call("cancel", { id: "full", queue: "jobs" });
    await one.tick();
    // It waits, so that there is no room for the next one, which the third replaces.
    expect(await submitted("hourly", times)).to.deep.equal([true, false, false]);
    pass(HOUR_MS / 2 + 1000);
    await one.tick();
    await t.engine.call("cancel", { id: taskIdOf("hourly", times[0] ?? 0), queue: "jobs" });
    pass(HOUR_MS);
    await one.tick();
    expect(await submitted("hourly", times)).to.deep.equal([true, false, true]);
  });

  it("leaves a time out while the task of before has not ended, if it is to", async () => {
    const one = process();
    await one.schedules.put("hourly", definition({ overlap: "skip" }));
    await one.tick();
    const times = await dueTimes(one, "hourly", 3);
    for (const [n] of times.entries()) {
      pass(HOUR_MS);
      if (n === 2) await t.engine.call("cancel", { id: taskIdOf("hourly", times[0] ?? 0), queue: "jobs" });
      await one.tick();
      if (n === 1) expect((await look(one, "hourly")).last?.state).to.equal("skipped");
    }
    expect(await submitted("hourly", times)).to.deep.equal([true, false, true]);
  });

  it("remembers how the tasks of the last twenty due times have ended, longer than these are kept", async () => {
    const one = process();
    await one.schedules.put("hourly", definition());
    await one.tick();
    for (let n = 0; n < 22; n += 1) {
      pass(HOUR_MS);
      await one.tick();
      await t.engine.call("cancel", {
        id: taskIdOf("hourly", (await dueTimes(one, "hourly", n + 1))[n] ?? 0),
        queue: "jobs",
      });
    }
    pass(5000);
    await one.tick();
    const { history } = await look(one, "hourly");
    expect(history.map(({ state }) => state)).to.deep.equal(Array(20).fill("canceled"));
    expect(history[0]?.at).to.equal(new Date((await dueTimes(one, "hourly", 22))[21] ?? 0).toISOString());
    expect(await t.redis.zcard(`${t.keys.tag(0)}:scheduleRuns`)).to.equal(0);
  });

  it("leaves a due time to the processes that have the handler of its queue", async () => {
    const [other, one] = [process(undefined, ["elsewhere"]), process()];
    await one.schedules.put("hourly", definition());
    await Promise.all([other.tick(), one.tick()]);
    const times = await dueTimes(one, "hourly", 1);
    pass(HOUR_MS);
    await other.tick();
    await one.tick();
    expect(await submitted("hourly", times)).to.deep.equal([true]);
  });

  it("reaches its schedules behind a thousand of a queue whose handler no process has", async () => {
    const one = process();
    const elsewhere = definition({ queue: "elsewhere" });
    await Promise.all(Array.from({ length: 1000 }, (_, n) => one.schedules.put(`a${n}`, elsewhere)));
    pass(1000);
    await one.schedules.put("hourly", definition());
    for (let ticks = 0; ticks < 2; ticks += 1) await one.tick();
    const times = await dueTimes(one, "hourly", 1);
    pass(HOUR_MS);
    for (let ticks = 0; ticks < 2; ticks += 1) await one.tick();
    expect(await submitted("hourly", times)).to.deep.equal([true]);
  });

  it("follows a schedule to another queue", async () => {
    const [other, one] = [process(undefined, ["elsewhere"]), process()];
    await one.schedules.put("hourly", definition());
    await one.tick();
    await other.schedules.put("hourly", definition({ queue: "elsewhere" }));
    const times = await dueTimes(one, "hourly", 1);
    pass(HOUR_MS);
    await one.tick();
    expect(await submitted("hourly", times)).to.deep.equal([false]);
    await other.tick();
    expect(await submitted("hourly", times)).to.deep.equal([true]);
  });

  it("submits a declared schedule while a live process declares it; then it is an orphan, until one does again", async () => {
    const declared = { nightly: { every: "1h", input: { n: 2 } } };
    const [newer, older] = [process(), process(declared)];
    await older.schedules.synchronize();
    await Promise.all([older.tick(), newer.tick()]);
    const id = "jobs.nightly";
    const times = await dueTimes(older, id, 4);
    // Two releases side by side: whichever comes first submits it.
    pass(HOUR_MS);
    await older.tick();
    await newer.tick();
    expect(await look(newer, id)).to.deep.include({ declared: true, orphan: false });
    expect(await newer.schedules.put(id, definition({ input: 3 }))).to.equal("declared");
    expect(await newer.schedules.delete(id)).to.equal("declared");
    for (let passed = 0; passed < HOUR_MS; passed += HOUR_MS / 2) {
      pass(HOUR_MS / 2);
      await newer.tick();
    }
    expect(await look(newer, id)).to.deep.include({ declared: true, orphan: true, next: [] });
    expect(await submitted(id, times)).to.deep.equal([true, false, false, false]);
    const again = process(declared);
    await again.schedules.synchronize();
    await again.tick();
    expect(await submitted(id, times)).to.deep.equal([true, true, false, false]);
    pass(20_000);
    await newer.tick();
    expect(await newer.schedules.delete(id)).to.equal("deleted");
    // The store may lose them as well.
    await again.tick();
    expect(await look(again, id)).to.deep.include({ declared: true, orphan: false });
  });

  it("leaves a declared schedule paused when it is declared again", async () => {
    const one = process({ nightly: { every: "1h", input: 1 } });
    await one.schedules.synchronize();
    const { row } = await one.schedules.find("jobs.nightly");
    const stored = JSON.parse(row?.definition ?? "");
    expect(await one.schedules.put("jobs.nightly", stored, { paused: true })).to.equal("changed");
    await process({ nightly: { every: "2h", input: 1 } }).schedules.synchronize();
    expect(await look(one, "jobs.nightly")).to.include({ every: "2h", paused: true });
  });

  it("stops the start of a server whose handler declares what cannot be a schedule", () => {
    const [, message] = ["jobs.x", "cron: expected"];
    expect(() => process({ x: { cron: "every day", input: 1 } }))
      .to.throw(message)
      .with.property("name", "StartError");
    expect(() => process({ ["x".repeat(60)]: { every: "1h", input: 1 } })).to.throw("its id is its queue");
  });
});
