import { mock } from "node:test";
import { expect } from "chai";
import type { AbortCause, HandlerEnd } from "../../../src/engine/attempt/attempt-end.ts";
import type { QueueSettings } from "../../../src/engine/settings.ts";
import { defineHandler, type Handler } from "../../../src/handler/define.ts";
import { note } from "../../../src/handler/noted.ts";
import type { TaskContext } from "../../../src/handler/task-context.ts";
import { InProcess } from "../../../src/workers/sandbox/in-process.ts";
import { attemptOf, LIMITS } from "../../helpers/attempt.ts";
import { deferred } from "../../helpers/deferred.ts";

const LEASE_MS = 30_000;

describe("a handler that ignores its signal in the worker's process", () => {
  beforeEach(() => mock.timers.enable({ apis: ["setTimeout"] }));
  afterEach(() => mock.timers.reset());

  /** Runs one that ends when told to. */
  const run = (settings: Partial<QueueSettings> = {}, drainTimeoutMs = 0) => {
    const answer = deferred<unknown>();
    const seen = { overdue: 0, stuck: 0 };
    const metrics = { countOverdue: (_: string, by: number) => (seen.overdue += by) };
    const attempt = attemptOf({ settings: { leaseMs: LEASE_MS, ...settings }, engine: { metrics } });
    const onStuck = () => (seen.stuck += 1);
    const executor = new InProcess({ limits: LIMITS, drainTimeoutMs, onStuck });
    const handler = defineHandler({ queue: "jobs", run: () => answer.promise }) as Handler;
    let end: HandlerEnd | undefined;
    const ended = Promise.resolve(executor.execute(attempt, handler)).then((how) => {
      end = how;
    });
    /** How it has ended after so long, if it has. */
    const endAfter = async (ms: number) => {
      mock.timers.tick(ms);
      await Promise.resolve();
      await Promise.resolve();
      return end?.kind;
    };
    return { attempt, endAfter, seen, answer, ended };
  };

  it("may continue without its task after a grace period, when another worker has the task or its time is up", async () => {
    for (const [cause, graceMs] of [
      ["timeout", 2000],
      ["lease-lost", 2000],
      ["shutdown", 500],
    ] as const) {
      const { attempt, endAfter, seen, answer } = run();
      attempt.abort(cause);
      expect(await endAfter(graceMs - 1), cause).to.equal(undefined);
      expect(seen.overdue).to.equal(0);
      expect(await endAfter(1), cause).to.equal("overdue");
      expect(seen).to.deep.equal({ overdue: 1, stuck: 0 });
      answer.resolve("late");
      await attempt.goingOn;
      await Promise.resolve();
      expect(seen.overdue, "it has ended").to.equal(0);
    }
  });

  it("has as long as a lease, or a drain if that is longer, when its task was canceled", async () => {
    for (const [cause, drainTimeoutMs] of [
      ["canceled", 0],
      ["deadline", 0],
      ["abandoned", 2 * LEASE_MS],
    ] as const) {
      const { attempt, endAfter } = run({}, drainTimeoutMs);
      attempt.abort(cause);
      expect(await endAfter(2000)).to.equal(undefined);
      expect(await endAfter(Math.max(LEASE_MS, drainTimeoutMs) - 1), cause).to.equal(undefined);
      expect(attempt.goingOn).to.equal(undefined);
      expect(await endAfter(1), cause).to.equal("overdue");
      expect(attempt.goingOn).to.not.equal(undefined);
    }
  });

  it("is stuck if nothing may run beside it, unless another worker has its task", async () => {
    for (const cause of ["timeout", "shutdown", "canceled"] satisfies AbortCause[]) {
      const { attempt, endAfter, seen } = run({ exclusive: true });
      attempt.abort(cause);
      await endAfter(2000);
      await endAfter(LEASE_MS - 1);
      expect(seen.stuck, cause).to.equal(0);
      expect(await endAfter(1)).to.equal(undefined);
      expect(seen.stuck, cause).to.equal(1);
      attempt.abort("lease-lost");
      expect(await endAfter(2000)).to.equal("overdue");
      expect(seen).to.deep.equal({ overdue: 1, stuck: 1 });
    }
  });

  it("is awaited if it ends in time, and nothing happens later", async () => {
    const { attempt, seen, answer, ended, endAfter } = run({ exclusive: true });
    attempt.abort("canceled");
    await endAfter(2000);
    answer.resolve("in time");
    await ended;
    expect(await endAfter(2 * LEASE_MS)).to.equal("result");
    attempt.abort("lease-lost");
    await endAfter(2 * LEASE_MS);
    expect(seen).to.deep.equal({ overdue: 0, stuck: 0 });
  });
});

describe("the service time of a call with several tasks", () => {
  const untimed = async (answers: readonly unknown[]) => {
    const executor = new InProcess({ limits: LIMITS, drainTimeoutMs: 0, onStuck: () => undefined });
    const options = { queue: "jobs", batch: { max: answers.length, wait: 0 }, run: () => [...answers] };
    const attempts = answers.map((_, n) => attemptOf({ task: { id: `task-${n}` } }));
    for (const [n, attempt] of attempts.entries()) attempt.waitedMs = 10.2 * (attempts.length - n - 1);
    await Promise.all(executor.executeBatch(attempts, defineHandler(options as never) as Handler));
    return attempts.map((attempt) => attempt.untimed);
  };

  it("is that of the one that succeeded and had waited least; what that had waited does not count", async () => {
    expect(await untimed([1, 2, new Error("no")])).to.deep.equal(["all", 10, "all"]);
    expect(await untimed([1, 2, 3])).to.deep.equal(["all", "all", undefined]);
    expect(await untimed([new Error("no"), new Error("no")])).to.deep.equal(["all", "all"]);
  });
});

describe("what a handler has noted for the gate of its queue", () => {
  it("is told with its end, whether it succeeds or not", async () => {
    const executor = new InProcess({ limits: LIMITS, drainTimeoutMs: 0, onStuck: () => undefined });
    const seen = { state: "up" };
    for (const end of [async () => 1, async () => Promise.reject(new Error("no"))]) {
      const run = (_: unknown, task: TaskContext) => {
        note(task, seen);
        return end();
      };
      const handler = defineHandler({ queue: "jobs", run }) as Handler;
      expect(await executor.execute(attemptOf(), handler)).to.have.property("noted", seen);
    }
  });
});
