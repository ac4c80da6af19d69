import { expect } from "chai";
import { defineHandler, type HandlerOptions } from "../../src/handler/define.ts";
import { deferred } from "../helpers/deferred.ts";
import { replaceCall } from "../helpers/replace-call.ts";
import { openWorkshop, passDeadline, type Workshop } from "../helpers/workshop.ts";
import { eventually } from "../shared/eventually.ts";

const HOUR_MS = 3_600_000;
/** The handlers of these tests never heed their signal. */
const GRACE_MS = 20;

describe("a handler that ignores its signal", function () {
  this.timeout(60_000);
  let shop: Workshop;
  let journal: string[];
  let gate: { promise: Promise<void>; resolve(): void };
  afterEach(async () => {
    gate.resolve();
    await shop.close();
  });

  /** Its first task holds a step open until the gate opens. */
  const open = async (options: Omit<HandlerOptions<unknown>, "queue" | "run">) => {
    journal = [];
    gate = deferred();
    let runs = 0;
    const handler = defineHandler({
      queue: "jobs",
      attempts: 1,
      ...options,
      run: async (_, task) => {
        runs += 1;
        const first = runs === 1;
        const nth = runs;
        await task.step("book", async () => {
          journal.push(`begin ${nth}`);
          if (first) await gate.promise;
          journal.push(`end ${nth}`);
        });
        return "done";
      },
    });
    shop = await openWorkshop([handler]);
  };
  const undo = { book: () => void journal.push("undo") };
  const keyed = { by: () => "account" };
  const begun = () => eventually(() => journal.length > 0);
  const gauge = async () => {
    const text = await shop.engine.metrics.exposition();
    return /paihao_handlers_overdue\{queue="jobs"\} (\d+)/.exec(text)?.[1];
  };
  const overdue = () => eventually(async () => expect(await gauge()).to.equal("1"));
  const running = async () => (await shop.engine.queues.figures(["jobs"]))[0]?.snapshot.running;

  const stops: Readonly<Record<string, { timeout?: string; stop(id: string): Promise<unknown>; end: object }>> = {
    "a cancel": { stop: (id) => shop.engine.call("cancel", { id, queue: "jobs" }), end: { state: "canceled" } },
    "its deadline": {
      stop: (id) => passDeadline(shop, id),
      end: { state: "canceled", errorCode: "deadline-passed" },
    },
    "its timeout": {
      timeout: "50ms",
      stop: async () => undefined,
      end: { state: "failed", errorCode: "task-timeout" },
    },
  };
  for (const [why, { timeout, stop, end }] of Object.entries(stops)) {
    it(`has ended before its step is undone after ${why}; until then its slot is taken`, async () => {
      await open({ undo, concurrency: 1, ...(timeout === undefined ? {} : { timeout }) });
      await shop.worker({ graceMs: GRACE_MS });
      const id = await shop.submit(1, { deadlineMs: HOUR_MS });
      await begun();
      await stop(id);
      const next = await shop.submit(2);
      await overdue();
      expect(await shop.look(id)).to.include({ state: "running", finishedMs: null });
      expect((await shop.look(next)).state).to.equal("waiting");
      expect(await running()).to.equal(1);
      gate.resolve();
      expect(await shop.ended(id)).to.include(end);
      await shop.ended(`${id}:undo:jobs`, "succeeded");
      expect(journal.indexOf("undo")).to.be.above(journal.indexOf("end 1"));
      await shop.ended(next);
      await eventually(async () => expect(await gauge()).to.equal("0"));
    });

    it(`has ended before the next task of its key begins after ${why}`, async () => {
      await open({ keyed, concurrency: 3, ...(timeout === undefined ? {} : { timeout }) });
      await shop.worker({ graceMs: GRACE_MS });
      const id = await shop.submit(1, { deadlineMs: HOUR_MS, key: "account" });
      await begun();
      await stop(id);
      const next = await shop.submit(2, { key: "account" });
      await overdue();
      // One that came later, of another key, passes it.
      await shop.ended(await shop.submit(3, { key: "another account" }));
      expect((await shop.look(next)).state).to.equal("waiting");
      gate.resolve();
      await shop.ended(next);
      expect(await shop.look(id)).to.include(end);
      expect(journal).to.deep.equal(["begin 1", "begin 2", "end 2", "end 1", "begin 3", "end 3"]);
    });
  }

  it("has ended before its task is canceled, even if nothing follows it", async () => {
    await open({});
    await shop.worker({ graceMs: GRACE_MS });
    const id = await shop.submit(1);
    await begun();
    await shop.engine.call("cancel", { id, queue: "jobs" });
    await overdue();
    expect(await shop.look(id)).to.include({ state: "running", cancelRequested: true });
    gate.resolve();
    expect((await shop.ended(id)).state).to.equal("canceled");
  });

  it("is finally abandoned if it was canceled and nothing follows it", async () => {
    await open({ lease: "1s" });
    await shop.worker({ graceMs: GRACE_MS });
    const id = await shop.submit(1);
    await begun();
    await shop.engine.call("cancel", { id, queue: "jobs" });
    expect((await shop.ended(id)).state).to.equal("canceled");
    expect(journal).to.deep.equal(["begin 1"]);
  });

  it("is not handed back by a worker that stops", async () => {
    await open({ keyed, attempts: 2, lease: "1s" });
    const worker = await shop.worker({ graceMs: GRACE_MS });
    const id = await shop.submit(1, { key: "account" });
    await begun();
    const released = deferred<string>();
    replaceCall(shop.engine, "release", async ({ id: of }) => {
      released.resolve(of);
      return "released";
    });
    const stopped = worker.stop().then(() => "stopped");
    expect(await Promise.race([stopped, released.promise])).to.equal("stopped");
    expect(journal).to.deep.equal(["begin 1"]);
    // Its process would have ended by now; the lease ends after it.
    expect(await shop.ended(id, "waiting")).to.include({ lost: 1, attempts: 0 });
  });

  it("loses its slot and its task with its lease, even after it was canceled", async () => {
    await open({ undo, concurrency: 1, lease: "3s" });
    await shop.worker({ graceMs: GRACE_MS });
    const id = await shop.submit(1);
    await begun();
    await shop.engine.call("cancel", { id, queue: "jobs" });
    await overdue();
    shop.engine.leases.renew = async () => "stale";
    const next = await shop.submit(2);
    expect(await shop.answer(next)).to.equal("done");
    expect(await gauge()).to.equal("1");
  });

  it("is counted and logged as stuck after DRAIN_TIMEOUT, or its lease; a program that uses the library continues", async () => {
    await open({ undo, lease: "1s", concurrency: 2 });
    const worker = await shop.worker({ graceMs: GRACE_MS });
    const id = await shop.submit(1);
    await begun();
    await shop.engine.call("cancel", { id, queue: "jobs" });
    await worker.stuck;
    expect(await shop.engine.metrics.exposition()).to.contain('paihao_handlers_stuck_total{queue="jobs"} 1');
    const lines = shop.log.filter(({ msg }) => String(msg).includes("ignores its signal"));
    expect(lines.map(({ level, requestId, queue }) => ({ level, requestId, queue }))).to.deep.equal([
      { level: 50, requestId: id, queue: "jobs" },
    ]);
    // Its lease is still renewed, and the other slot works.
    expect(await shop.answer(await shop.submit(2))).to.equal("done");
    await shop.ranFor(id, 2500);
    expect(await shop.look(id)).to.include({ state: "running", lost: 0 });
    gate.resolve();
    expect((await shop.ended(id)).state).to.equal("canceled");
    await shop.ended(`${id}:undo:jobs`, "succeeded");
    expect(journal).to.deep.equal(["begin 1", "begin 2", "end 2", "end 1", "undo"]);
  });
});
