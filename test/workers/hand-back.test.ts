import { setImmediate as turn } from "node:timers/promises";
import { expect } from "chai";
import type { Engine } from "../../src/engine/engine.ts";
import { HandBacks } from "../../src/workers/hand-back.ts";
import { attemptOf } from "../helpers/attempt.ts";
import { type FakeTime, fakeTime } from "../helpers/fake-time.ts";
import { recordingLog } from "../helpers/recording-log.ts";

describe("tasks that a worker hands back without running them", () => {
  let time: FakeTime;
  beforeEach(() => {
    time = fakeTime();
  });
  afterEach(() => time.end());

  const { task, settings } = attemptOf({ task: { id: "task-9", fence: "3" } });
  const open = (answer: () => Promise<string>) => {
    const calls: unknown[][] = [];
    const call =
      (name: string) =>
      (...args: unknown[]) => {
        calls.push([name, ...args]);
        return answer();
      };
    const { log, messages } = recordingLog();
    const engine = {
      call: (name: string, of: unknown) => call(name)(of),
      leases: { fail: call("fail") },
    } as unknown as Engine;
    return { handBacks: new HandBacks(engine, settings, log), calls, messages };
  };

  it("go back to their places at once; suspects a little later, one after the other", async () => {
    const { handBacks, calls, messages } = open(async () => "ok");
    const lease = { queue: "jobs", id: "task-9", fence: "3" };
    void handBacks.now(task);
    expect(calls.splice(0)).to.deep.equal([["release", { ...lease, unbegun: true }]]);
    for (let n = 0; n < 3; n += 1) handBacks.later(task);
    await time.pass(2000);
    handBacks.later(task);
    expect(calls.map(([name, of, , given]) => [name, of, given])).to.deep.equal(
      Array(4).fill(["fail", lease, settings]),
    );
    const failures = calls.map(([, , failure]) => failure as { kind: string; delayMs: number });
    expect(failures.map(({ kind, delayMs }) => [kind, delayMs])).to.deep.equal([
      ["later", 500],
      ["later", 510],
      ["later", 520],
      ["later", 500],
    ]);
    expect(messages).to.deep.equal(["pool: handing a task back"]);
  });

  it("wait until their leases end if they cannot be returned, which is logged", async () => {
    const { handBacks, messages } = open(() => Promise.reject(new Error("refused")));
    void handBacks.now(task);
    handBacks.later(task);
    await turn();
    expect(messages).to.have.length(3);
  });
});
