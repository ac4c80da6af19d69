import path from "node:path";
import { expect } from "chai";
import type { HandlerEnd } from "../../../src/engine/attempt/attempt-end.ts";
import { defineHandler, type Handler } from "../../../src/handler/define.ts";
import { INTERNAL_QUEUES } from "../../../src/handler/internal-queues.ts";
import { createLog } from "../../../src/log.ts";
import { Children } from "../../../src/workers/sandbox/children.ts";
import { Executors } from "../../../src/workers/sandbox/executors.ts";
import { InProcess } from "../../../src/workers/sandbox/in-process.ts";
import { Threads } from "../../../src/workers/sandbox/threads.ts";
import { attemptOf, LIMITS } from "../../helpers/attempt.ts";

const HANDLERS = path.join(import.meta.dirname, "../../fixtures/handlers/isolated");
const run = () => undefined;

describe("where a task runs", () => {
  const open = (handlersDir: string | undefined, handlers: readonly Handler[]) =>
    new Executors({
      ...{ handlers: new Map(handlers.map((handler) => [handler.queue, handler])), handlersDir },
      ...{ limits: LIMITS, log: createLog("silent"), drainTimeoutMs: 0, onStuck: () => undefined },
    });
  const plain = defineHandler({ queue: "jobs", run }) as Handler;
  const isolated = defineHandler({ queue: "isolated", isolate: true, run }) as Handler;
  const { task } = attemptOf();
  const suspect = { ...task, lost: 1 };

  it("is this process, or a thread if its handler or the one that it undoes asks for it", async () => {
    const executors = open(HANDLERS, [plain, isolated]);
    const { undo } = INTERNAL_QUEUES;
    expect(executors.of(task, "jobs")).to.be.instanceOf(InProcess);
    expect(executors.of(task, "isolated")).to.be.instanceOf(Threads);
    expect(executors.of({ ...task, id: "task-1:undo:isolated" }, undo)).to.be.instanceOf(Threads);
    expect(executors.of({ ...task, id: "task-1:undo:jobs" }, undo)).to.be.instanceOf(InProcess);
    await executors.stop();
  });

  it("is apart from others for suspects, except for those of the server and those whose handlers are in no files", async () => {
    const executors = open(HANDLERS, [plain, isolated]);
    for (const queue of ["jobs", "isolated", INTERNAL_QUEUES.undo]) {
      expect(executors.of(suspect, queue), queue).to.be.instanceOf(Children);
      expect(executors.suspectsOf(queue)).to.equal(executors.of(suspect, queue));
    }
    for (const queue of Object.values(INTERNAL_QUEUES).filter((name) => name !== INTERNAL_QUEUES.undo)) {
      expect(executors.of(suspect, queue), queue).to.be.instanceOf(InProcess);
      expect(executors.suspectsOf(queue)).to.equal(undefined);
    }
    const without = open(undefined, [plain]);
    expect(without.of(suspect, "jobs")).to.be.instanceOf(InProcess);
    await Promise.all([executors.stop(), without.stop()]);
  });

  it("is a thread that was used before, unless that has ended", async () => {
    const threads = new Threads({ handlersDir: HANDLERS, limits: LIMITS }, 256);
    const make = (deed: string) =>
      threads.execute(
        attemptOf({ task: { input: Buffer.from(JSON.stringify(deed)) }, settings: { queue: "isolated" } }),
      );
    const threadOf = (end: HandlerEnd) => (end.kind === "result" ? String(end.result.body) : end.kind);
    const first = threadOf(await make("where"));
    expect(first).to.contain("threadId");
    expect(threadOf(await make("where"))).to.equal(first);
    expect(await make("exit")).to.have.property("kind", "error");
    const second = threadOf(await make("where"));
    expect(second).to.contain("threadId").and.not.equal(first);
    await threads.stop();
  }).timeout(60_000);
});
