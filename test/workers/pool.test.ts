import { expect } from "chai";
import type { Engine } from "../../src/engine/engine.ts";
import type { QueueSettings } from "../../src/engine/settings.ts";
import { defineHandler, type Handler } from "../../src/handler/define.ts";
import { createLog } from "../../src/log.ts";
import type { Reservation, ReservedTask } from "../../src/store/verbs/reserve.ts";
import type { Attempt } from "../../src/workers/attempt/attempt.ts";
import { Pool } from "../../src/workers/pool.ts";
import type { Runner, WorkerParts } from "../../src/workers/runner.ts";
import type { Slot } from "../../src/workers/slots.ts";
import { attemptOf } from "../helpers/attempt.ts";
import { type FakeTime, fakeTime } from "../helpers/fake-time.ts";

describe("the pool of a queue in a worker", () => {
  let time: FakeTime;
  let pool: Pool;
  beforeEach(() => {
    time = fakeTime();
  });
  afterEach(async () => {
    await pool.stop();
    time.end();
  });

  interface Given {
    /** The tasks that wait. */
    readonly line?: Partial<ReservedTask>[];
    readonly settings?: Partial<QueueSettings>;
    /** Whether suspects run in child processes, and whether one more is admitted. */
    readonly suspects?: { readonly admits: boolean };
  }
  const open = ({ line = [], settings, suspects }: Given = {}) => {
    const listeners = new Map<string, (message: Buffer | null) => void>();
    const seen = {
      requests: [] as Reservation[],
      runs: [] as { readonly id: string; readonly slot: Slot; readonly leaseMs: number | undefined }[],
      returned: [] as string[],
      aborted: [] as (readonly unknown[])[],
      batches: [] as number[],
      closed: 0,
      listeners,
    };
    const found: (() => void)[] = [];
    const returns = (how: string) => async (lease: { readonly id: string }) => seen.returned.push(`${how} ${lease.id}`);
    const engine = {
      keys: {
        partitionOfQueue: () => 3,
        workChannel: (partition: number, queue: string) => `work ${partition} ${queue}`,
      },
      pubsub: {
        listen: async (channel: string, listener: (message: Buffer | null) => void) => {
          listeners.set(channel, listener);
          return () => listeners.delete(channel);
        },
      },
      leases: {
        openStandby: async () => ({
          usable: false,
          waiting: false,
          cut: async () => {},
          close: () => (seen.closed += 1),
        }),
        reserve: async (request: Reservation) => {
          seen.requests.push(request);
          const tasks = line.splice(0, request.count).map((task) => ({ lost: 0, ...task }));
          return { tasks, waiting: line.length, pauseMs: 0 };
        },
        fail: returns("put off"),
      },
      call: (_: "release", lease: { readonly id: string }) => returns("handed back")(lease),
      maintenance: {
        onWork: (_: string, listener: () => void) => {
          found.push(listener);
          return () => found.pop();
        },
      },
      metrics: { batches: { observe: (size: number) => seen.batches.push(size) } },
    };
    const runner = {
      run: ({ id }: ReservedTask, slot: Slot, _takenAt: number, leaseMs?: number) =>
        seen.runs.push({ id, slot, leaseMs }),
    } as unknown as Runner;
    const executors = {
      reportsBegin: () => suspects !== undefined,
      admitsSuspect: () => suspects?.admits ?? true,
      executeBatch: (attempts: readonly Attempt[]) => attempts.map(() => new Promise(() => undefined)),
    };
    const handler = defineHandler({ queue: "jobs", run: () => undefined }) as Handler;
    const all = attemptOf({ settings: { concurrency: 2, ...settings } }).settings;
    pool = new Pool("w", handler, all, runner, {
      ...{ engine: engine as unknown as Engine, executors, log: createLog("silent") },
      renewer: { abort: (...how: unknown[]) => seen.aborted.push(how) },
    } as unknown as WorkerParts);
    const notice = (text: string | null) => listeners.get("work 3 jobs")?.(text === null ? null : Buffer.from(text));
    return { ...seen, seen, line, found, notice };
  };
  const idsOf = (runs: readonly { readonly id: string }[]) => runs.map(({ id }) => id);

  it("tells the handler of a task why it is to stop", async () => {
    const { notice, aborted, requests } = open();
    await pool.start();
    await time.pass(50);
    requests.length = 0;
    for (const word of ["cancel", "deadline", "abandoned"]) notice(`${word} task-1`);
    expect(aborted).to.deep.equal([
      ["canceled", "task-1"],
      ["deadline", "task-1"],
      ["abandoned", "task-1"],
    ]);
    await time.pass(50);
    expect(requests, "such a message is no work").to.deep.equal([]);
  });

  it("asks for work after a message, or if messages may be lost", async () => {
    const { notice, requests, found } = open();
    await pool.start();
    await time.pass(50);
    for (const tell of [() => notice("new"), () => notice(null), () => found[0]?.()]) {
      requests.length = 0;
      tell();
      await time.pass(50);
      expect(requests).to.have.length(1);
    }
  });

  it("sends two requests at once if it has many slots, unless tasks share calls", async () => {
    for (const [settings, lanes, count] of [
      [{ concurrency: 15 }, 1, 15],
      [{ concurrency: 16 }, 2, 5],
      [{ concurrency: 16, batch: { max: 2, waitMs: 0 } }, 1, 32],
    ] as const) {
      const line = Array.from({ length: 100 }, (_, n) => ({ id: String(n) }));
      const { requests, runs } = open({ line, settings });
      await pool.start();
      await time.pass(50);
      for (const { slot } of runs.splice(0)) {
        slot.ended();
        slot.stored();
      }
      await time.pass(50);
      expect(new Set(requests.map(({ lane }) => lane))).to.have.property("size", lanes);
      expect(requests[0]?.count).to.equal(count);
      await pool.stop();
    }
  });

  it("takes no work once it is stopped, and listens no longer, even if it was stopped while it started", async () => {
    const { line, requests, seen, listeners, found } = open();
    await Promise.all([pool.start(), pool.start()]);
    expect([listeners.size, found.length]).to.deep.equal([1, 1]);
    await pool.stop();
    expect([listeners.size, found.length, seen.closed]).to.deep.equal([0, 0, 1]);
    line.push({ id: "a" });
    requests.length = 0;
    await time.pass(5000);
    expect(requests).to.deep.equal([]);

    const other = open({ line: [{ id: "a" }] });
    const starting = pool.start();
    await pool.stop();
    await starting;
    await time.pass(5000);
    expect([other.requests, other.listeners.size, other.found.length]).to.deep.equal([[], 0, 0]);
    expect(other.seen.closed).to.be.above(0);
  });

  it("lets tasks share a call, and gives a suspect one of its own", async () => {
    const line = [{ id: "a" }, { id: "b" }, { id: "c", lost: 1 }];
    const { runs, batches } = open({
      line,
      settings: { concurrency: 2, batch: { max: 2, waitMs: 0 } },
    });
    await pool.start();
    await time.pass(50);
    expect(idsOf(runs)).to.deep.equal(["a", "b", "c"]);
    for (const { slot } of runs) {
      void slot.execute?.(attemptOf());
    }
    await time.pass(50);
    expect(batches).to.deep.equal([2]);
    expect(runs[2]?.slot.execute).to.equal(undefined);
  });

  it("returns a task at once if its call has no slot, and a suspect a little later", async () => {
    for (const [line, ran, back] of [
      [[{ id: "a" }, { id: "s", lost: 1 }], "a", "put off s"],
      [[{ id: "s", lost: 1 }, { id: "a" }], "s", "handed back a"],
    ] as const) {
      const settings = { concurrency: 1, batch: { max: 2, waitMs: 0 } };
      const { runs, returned } = open({ line: [...line], settings });
      await pool.start();
      await time.pass(50);
      expect([idsOf(runs), returned]).to.deep.equal([[ran], [back]]);
      await pool.stop();
    }
  });

  describe("with a task that has lost a worker", () => {
    const SUSPECT = [{ id: "s", lost: 1 }];

    it("runs it in a slot of its own, with a short lease until its handler begins", async () => {
      const { runs, seen } = open({ line: [{ id: "a" }, ...SUSPECT, { id: "b" }], suspects: { admits: true } });
      await pool.start();
      await time.pass(50);
      expect(runs.map(({ id, leaseMs }) => [id, leaseMs !== undefined])).to.deep.equal([
        ["a", false],
        ["s", true],
      ]);
      expect(seen.requests[0]?.suspectLeaseMs).to.be.a("number").and.equal(runs[1]?.leaseMs);
      runs[1]?.slot.ended();
      runs[1]?.slot.stored();
      await time.pass(50);
      expect(idsOf(runs)).to.deep.equal(["a", "s", "b"]);
    });

    it("puts it off if there are enough of them", async () => {
      const { runs, returned } = open({ line: [...SUSPECT], suspects: { admits: false } });
      await pool.start();
      await time.pass(50);
      expect([idsOf(runs), returned]).to.deep.equal([[], ["put off s"]]);
    });

    it("runs it as any other if there are no child processes", async () => {
      const { runs, seen } = open({ line: [...SUSPECT] });
      await pool.start();
      await time.pass(50);
      expect(runs.map(({ id, leaseMs }) => [id, leaseMs])).to.deep.equal([["s", undefined]]);
      expect(seen.requests[0]).to.not.have.property("suspectLeaseMs");
    });
  });
});
