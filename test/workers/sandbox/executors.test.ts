import path from "node:path";
import { expect } from "chai";
import { undoHandler } from "../../../src/extras/undo/undo-handler.ts";
import { defineHandler, type Handler } from "../../../src/handler/define.ts";
import { INTERNAL_QUEUES } from "../../../src/handler/internal-queues.ts";
import { Children } from "../../../src/workers/sandbox/children.ts";
import { Executors } from "../../../src/workers/sandbox/executors.ts";
import { InProcess } from "../../../src/workers/sandbox/in-process.ts";
import { attemptOf, LIMITS } from "../../helpers/attempt.ts";
import { recordingLog } from "../../helpers/recording-log.ts";

const HANDLERS = path.join(import.meta.dirname, "../../fixtures/handlers/isolated");
const run = () => undefined;

describe("where a task runs", () => {
  const { log, messages } = recordingLog();
  const open = (handlersDir: string | undefined, handlers: readonly Handler[]) =>
    new Executors({
      ...{ handlers: new Map(handlers.map((handler) => [handler.queue, handler])), handlersDir },
      ...{ limits: LIMITS, log, drainTimeoutMs: 0, onStuck: () => undefined },
    });
  const plain = defineHandler({ queue: "jobs", run }) as Handler;
  const isolated = defineHandler({ queue: "isolated", isolate: true, run }) as Handler;
  const undoing = undoHandler(new Map());
  const { task } = attemptOf();
  const suspect = { ...task, lost: 1 };

  it("is this process, or a child process if its handler or the one that it undoes asks for it", async () => {
    const executors = open(HANDLERS, [plain, isolated, undoing]);
    const { undo } = INTERNAL_QUEUES;
    expect(executors.of(task, "jobs")).to.be.instanceOf(InProcess);
    expect(executors.of(task, "isolated")).to.be.instanceOf(Children);
    expect(executors.of({ ...task, id: "task-1:undo:isolated" }, undo)).to.equal(executors.of(task, "isolated"));
    expect(executors.of({ ...task, id: "task-1:undo:jobs" }, undo)).to.be.instanceOf(InProcess);
    await executors.stop();
  });

  it("is a child process for suspects, except for those of the server and those whose handlers are in no files", async () => {
    const executors = open(HANDLERS, [plain, isolated, undoing]);
    for (const queue of ["jobs", "isolated", INTERNAL_QUEUES.undo]) {
      expect(executors.of(suspect, queue), queue).to.be.instanceOf(Children);
      expect(executors.admitsSuspect(queue), queue).to.equal(true);
    }
    expect(executors.of(suspect, "isolated"), "with the memory that its handler asks for").to.equal(
      executors.of(task, "isolated"),
    );
    for (const queue of Object.values(INTERNAL_QUEUES).filter((name) => name !== INTERNAL_QUEUES.undo)) {
      expect(executors.of(suspect, queue), queue).to.be.instanceOf(InProcess);
      expect(executors.admitsSuspect(queue), queue).to.equal(true);
    }
    const without = open(undefined, [plain]);
    expect(messages).to.deep.equal([]);
    expect(without.of(suspect, "jobs")).to.be.instanceOf(InProcess);
    expect(messages[0]).to.match(/has lost a worker, but .* no file/);
    await Promise.all([executors.stop(), without.stop()]);
  });
});
