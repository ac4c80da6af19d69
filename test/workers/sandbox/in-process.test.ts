import { expect } from "chai";
import { defineHandler, type Handler } from "../../../src/handler/define.ts";
import { note } from "../../../src/handler/noted.ts";
import type { TaskContext } from "../../../src/handler/task-context.ts";
import { InProcess } from "../../../src/workers/sandbox/in-process.ts";
import { attemptOf, LIMITS } from "../../helpers/attempt.ts";

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
