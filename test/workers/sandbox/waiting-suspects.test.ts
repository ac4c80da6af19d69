import path from "node:path";
import { expect } from "chai";
import type { Engine } from "../../../src/engine/engine.ts";
import { defineHandler, type Handler } from "../../../src/handler/define.ts";
import { createLog } from "../../../src/log.ts";
import type { ReservedTask } from "../../../src/store/verbs/scripts.ts";
import { Children } from "../../../src/workers/sandbox/children.ts";
import type { Executor } from "../../../src/workers/sandbox/executor.ts";
import { attemptOf, LIMITS } from "../../helpers/attempt.ts";

const HANDLERS = path.join(import.meta.dirname, "../../fixtures/handlers/isolated");
const HANDLER = defineHandler({ queue: "jobs", run: () => undefined }) as Handler;

describe("a suspect that waits for a child process", () => {
  /** How each suspect claimed a slot, and what its worker reported, in the order in which that happened. */
  const happened: string[] = [];
  let children: Children;
  beforeEach(() => {
    happened.length = 0;
    const inWorker: Executor = { execute: async () => ({ kind: "overdue" }), stop: async () => undefined };
    const log = createLog("silent");
    children = new Children({ handlersDir: HANDLERS, limits: LIMITS, log, usual: () => inWorker });
  });
  afterEach(() => children.stop());

  /** Brings a suspect; no timer can have fired when this resolves. */
  async function bring(id: string, task: Partial<ReservedTask>): Promise<void> {
    const begin: Engine["leases"]["begin"] = async (_lease, _leaseMs, apart) => {
      happened.push(`${id} begins${apart ? " apart" : ""}`);
      return "ok";
    };
    const claimSlot = (how: string) => {
      happened.push(`${id} ${how}`);
      return true;
    };
    const attempt = attemptOf({ task: { id, lost: 1, ...task }, parts: { claimSlot }, engine: { leases: { begin } } });
    void children.execute(attempt, HANDLER);
    for (let n = 0; n < 20; n += 1) await Promise.resolve();
  }

  it("begins beside others at once where a worker has died while one waited, but only after its first loss", async () => {
    await bring("early", {});
    expect(happened).to.deep.equal([]);
    await bring("unlucky", { uncountedLosses: 1 });
    await bring("next", {});
    await bring("twice", { lost: 2 });
    expect(happened).to.deep.equal([
      ...["unlucky beside others", "unlucky begins"],
      ...["next beside others", "next begins"],
    ]);
  });

  it("lets those begin first that need not wait until other tasks have ended", async () => {
    await Promise.all([
      bring("a", { lost: 2, uncountedLosses: 1 }),
      bring("b", { uncountedLosses: 1 }),
      bring("c", { lost: 3, uncountedLosses: 2 }),
    ]);
    const claims = happened.filter((line) => !line.includes("begins"));
    expect(claims).to.deep.equal(["b beside others", "a among suspects", "c among suspects"]);
    expect(happened).to.include.members(["b begins", "a begins apart", "c begins apart"]);
  });
});
