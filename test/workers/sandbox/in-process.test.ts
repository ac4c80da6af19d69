import { expect } from "chai";
import { defineHandler, type Handler } from "../../../src/handler/define.ts";
import { note, type TaskContext } from "../../../src/handler/task-context.ts";
import { InProcess } from "../../../src/workers/sandbox/in-process.ts";
import { attemptOf, LIMITS } from "../../helpers/attempt.ts";

describe("the service time of a call with several tasks", () => {
  const timed = async (answers: readonly unknown[]) => {
    const executor = new InProcess({ limits: LIMITS, drainTimeoutMs: 0, onStuck: () => undefined });
    const options = { queue: "jobs", batch: { max: answers.length, wait: 0 }, run: () => [...answers] };
    const attempts = answers.map((_, n) => attemptOf({ task: { id: `task-${n}` } }));
    await Promise.all(executor.executeBatch(attempts, defineHandler(options as never) as Handler));
    return attempts.map(({ serviceMs }) => (typeof serviceMs === "number" ? "timed" : serviceMs));
  };

  it("is counted once, for one that succeeded", async () => {
    expect(await timed([1, 2, new Error("no")])).to.deep.equal(["none", "timed", "none"]);
    expect(await timed([1, 2, 3])).to.deep.equal(["none", "none", "timed"]);
    expect(await timed([new Error("no"), new Error("no")])).to.deep.equal(["none", "none"]);
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
