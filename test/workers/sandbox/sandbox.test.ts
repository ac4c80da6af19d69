import path from "node:path";
import { expect } from "chai";
import type { HandlerEnd } from "../../../src/engine/tasks/attempt-end.ts";
import { createLog } from "../../../src/log.ts";
import { openChild, type SandboxPort } from "../../../src/workers/sandbox/child-port.ts";
import type { FromSandbox, ToSandbox } from "../../../src/workers/sandbox/messages.ts";
import { Sandbox } from "../../../src/workers/sandbox/sandbox.ts";
import { attemptOf, LIMITS } from "../../helpers/attempt.ts";
import { deferred } from "../../helpers/deferred.ts";
import { keptMb } from "../../helpers/heap.ts";

const DONE: HandlerEnd = { kind: "permanent", message: "the end of a run" };

/** A sandbox at the other end of whose port is the test. */
function open() {
  const posted: ToSandbox[] = [];
  const gone = deferred<string>();
  let tell: (message: FromSandbox) => void = () => undefined;
  let kills = 0;
  const port: SandboxPort = {
    post: (message) => posted.push(message),
    listen: (listener) => {
      tell = listener;
    },
    gone: gone.promise,
    kill: async () => {
      kills += 1;
      gone.resolve("killed");
    },
  };
  const sandbox = new Sandbox(port, { handlersDir: "handlers", limits: LIMITS, log: createLog("silent") });
  return { sandbox, posted, gone, tell: (message: FromSandbox) => tell(message), kills: () => kills };
}

const reason = (promise: Promise<unknown>) => promise.then(String, (error: Error) => error.message);

describe("a sandbox, as its worker sees it", () => {
  it("is never ready, and ended, if it cannot load the handlers or is gone before", async () => {
    const broken = open();
    const loading = broken.sandbox.load();
    broken.tell({ type: "broken", error: { type: "Error", message: "no handlers", stack: "" } });
    expect(await reason(loading)).to.equal("no handlers");
    const [before, during] = [open(), open()];
    const cut = during.sandbox.load();
    for (const { gone } of [before, during]) gone.resolve("its process ended");
    await before.gone.promise;
    for (const failed of [cut, before.sandbox.load()]) expect(await reason(failed)).to.equal("its process ended");
    for (const { sandbox, kills } of [broken, before, during])
      expect([sandbox.alive, kills()]).to.deep.equal([false, 1]);
  });

  it("gets a copy of the input's own bytes, and is asked to stop when the signal fires", async () => {
    const { sandbox, posted, tell } = open();
    const all = Buffer.from("before 1 after");
    const attempt = attemptOf({ task: { input: all.subarray(7, 8) } });
    const end = sandbox.run(attempt);
    const [run] = posted;
    if (run?.type !== "run") throw new Error("it was not told to run anything");
    expect(run.input.buffer.byteLength).to.equal(1);
    expect(Buffer.from(run.input).toString()).to.equal("1");
    expect(run.limits).to.equal(LIMITS);
    attempt.abort("deadline");
    expect(posted.at(-1)).to.deep.equal({ type: "abort", run: 1, cause: "deadline" });
    tell({ type: "done", run: 1, end: DONE });
    expect(await end).to.equal(DONE);
    expect([sandbox.alive, sandbox.unused]).to.deep.equal([true, false]);
  });

  it("can be reused: what is left of an earlier run is ignored", async () => {
    const { sandbox, tell } = open();
    tell({ type: "done", run: 1, end: DONE });
    const first = sandbox.run(attemptOf());
    tell({ type: "done", run: 1, end: DONE });
    await first;
    const second = sandbox.run(attemptOf());
    tell({ type: "done", run: 1, end: DONE });
    const own: HandlerEnd = { kind: "permanent", message: "its own" };
    tell({ type: "done", run: 2, end: own });
    expect(await second).to.equal(own);
  });

  it("keeps no result of an earlier run", async () => {
    const { sandbox, tell } = open();
    const before = await keptMb();
    for (let run = 1; run <= 30; run += 1) {
      const end = sandbox.run(attemptOf());
      tell({ type: "done", run, end: { kind: "permanent", message: Buffer.alloc(1_000_000).toString("latin1") } });
      await end;
    }
    expect((await keptMb()) - before).to.be.below(8);
  });

  it("is ended before a run counts as over if it is in an unknown state", async () => {
    const { sandbox, tell, kills } = open();
    const end = sandbox.run(attemptOf());
    tell({ type: "done", run: 1, end: DONE, spoiled: true });
    expect([sandbox.alive, kills()]).to.deep.equal([false, 1]);
    expect(await end).to.equal(DONE);
  });

  it("logs into the log of its worker: at its level, or at info what has none", async () => {
    const { sandbox, tell } = open();
    const lines: Record<string, unknown>[] = [];
    const log = createLog("debug", { destination: { write: (line) => lines.push(JSON.parse(line)) } });
    const end = sandbox.run(attemptOf({ log }));
    const say = (line: string) => tell({ type: "log", run: 1, line });
    say(JSON.stringify({ level: 40, time: 1, pid: 1, msg: "said", part: "deep", err: { type: "Odd", message: "no" } }));
    say(JSON.stringify({ level: 35, msg: 7 }));
    say("not JSON");
    tell({ type: "done", run: 1, end: DONE });
    await end;
    expect(lines).to.have.length(3);
    const [first, second, third] = lines;
    expect(first).to.include({ level: 40, msg: "said", part: "deep", requestId: "task-1", pid: process.pid });
    expect(first?.err).to.include({ type: "Odd" });
    expect(second).to.include({ level: 30 }).and.not.have.property("msg");
    expect(third).to.include({ level: 30, msg: "not JSON" });
  });
});

describe("a sandbox in a child process", () => {
  it("says what a handler has shown of the API behind a gateway, also with its result", async () => {
    const handlersDir = path.join(import.meta.dirname, "../../fixtures/handlers/isolated");
    const sandbox = new Sandbox(openChild(256), { handlersDir, limits: LIMITS, log: createLog("silent") });
    try {
      await sandbox.load();
      const attempt = attemptOf({
        task: { input: Buffer.from('"reaches its target"') },
        settings: { queue: "isolated" },
      });
      const end = await sandbox.run(attempt);
      expect(end).to.deep.include({ kind: "result", noted: { state: "up", reason: "", repeatable: true } });
    } finally {
      await sandbox.kill();
    }
  }).timeout(60_000);
});
