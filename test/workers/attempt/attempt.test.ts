import { expect } from "chai";
import { ProblemError } from "../../../src/errors.ts";
import { attemptOf } from "../../helpers/attempt.ts";
import { type FakeTime, fakeTime } from "../../helpers/fake-time.ts";
import { recordingLog } from "../../helpers/recording-log.ts";

const LEASE_MS = 30_000;
const away = new ProblemError("store-unavailable");

describe("an attempt at a task", () => {
  let time: FakeTime;
  beforeEach(() => {
    time = fakeTime();
  });
  afterEach(() => time.end());

  it("is asked to stop once, for the first reason; and again if the lease is lost", () => {
    const attempt = attemptOf();
    const heard: unknown[] = [];
    attempt.whenAborted(() => heard.push(attempt.aborted));
    const { signal } = attempt;
    for (const cause of ["timeout", "canceled", "lease-lost", "lease-lost", "shutdown"] as const) attempt.abort(cause);
    expect(heard).to.deep.equal(["timeout", "lease-lost"]);
    expect(signal.reason).to.include({ name: "AbortError", cause: "timeout" });
    attempt.whenAborted(() => heard.push("late"));
    expect(heard).to.have.length(3);
    const late = attemptOf();
    late.abort("deadline");
    expect(late.signal.reason).to.include({ cause: "deadline" });
  });

  it("has a trace of its own, or that of the submitter, in what its handler gets", () => {
    const task = { trace: "submitted", query: "{}", caller: "bob" };
    expect(attemptOf({ task }).facts).to.include({ id: "task-1", queue: "jobs", trace: "submitted", caller: "bob" });
    const trace = { trace: "own", inSpan: undefined } as never;
    expect(attemptOf({ task, own: { trace } }).facts).to.include({ trace: "own" });
  });

  describe("whose handler is about to begin", () => {
    /** Reports the beginning of one that waited for a child process, with a shorter lease; the store has these verdicts. */
    const report = async (verdicts: readonly (string | Error)[], abort = false) => {
      const asked: unknown[] = [];
      const begin = async (...args: unknown[]) => {
        asked.push(args);
        const verdict = verdicts[asked.length - 1];
        if (verdict instanceof Error) throw verdict;
        return verdict;
      };
      const { log, messages } = recordingLog();
      const own = { takenAt: performance.now() - 1000 };
      const attempt = attemptOf({
        task: { unbegun: true },
        settings: { leaseMs: LEASE_MS },
        engine: { call: (_: string, of: unknown) => begin(of) },
        own,
        log,
      });
      const [leaseMs, renewedAt] = [attempt.leaseMs, attempt.renewedAt];
      if (abort) attempt.abort("shutdown");
      await time.settle(attempt.report(true)).catch(() => undefined);
      return { attempt, asked, messages, leaseMs, renewedAt };
    };

    it("has the whole lease from then on", async () => {
      const { attempt, asked, leaseMs, renewedAt } = await report(["ok"]);
      expect(asked).to.deep.equal([[{ ...attempt.lease, leaseMs: LEASE_MS, apart: true }]]);
      expect([attempt.aborted, attempt.leaseMs]).to.deep.equal([undefined, LEASE_MS]);
      expect(leaseMs).to.not.equal(LEASE_MS);
      expect(attempt.renewedAt).to.be.above(renewedAt);
    });

    it("must not begin if the task is another's, canceled, late or abandoned", async () => {
      for (const [verdict, cause] of [
        ["stale", "lease-lost"],
        ["cancel", "canceled"],
        ["deadline", "deadline"],
        ["abandoned", "abandoned"],
      ] as const) {
        const { attempt, leaseMs, renewedAt } = await report([verdict]);
        expect([attempt.aborted, attempt.leaseMs, attempt.renewedAt]).to.deep.equal([cause, leaseMs, renewedAt]);
      }
    });

    it("waits while the store is away, unless it was asked to stop meanwhile", async () => {
      const { attempt, asked, messages } = await report([away, away, "ok"]);
      expect([asked.length, messages.length, attempt.leaseMs]).to.deep.equal([3, 2, LEASE_MS]);
      expect((await report([away, "ok"], true)).asked).to.have.length(0);
    });
  });

  it("does not begin once its lease has ended, which is logged", () => {
    const { log, messages } = recordingLog();
    const began = (agoMs: number) =>
      attemptOf({ settings: { leaseMs: LEASE_MS }, own: { takenAt: performance.now() - agoMs }, log }).begin();
    expect([began(LEASE_MS / 2), messages.length]).to.deep.equal([true, 0]);
    expect([began(LEASE_MS), messages.length]).to.deep.equal([false, 1]);
  });

  describe("that begins a step", () => {
    /** Begins one whose lease was last known to hold so long ago. */
    const begin = async (verdict: string, undo: boolean, agoMs = 0) => {
      const calls: unknown[] = [];
      const answer = (name: string) => async (_: unknown, given: unknown) => {
        calls.push([name, given]);
        return verdict;
      };
      const engine = { steps: { begin: answer("begin") }, leases: { renew: answer("renew") } };
      const own = { takenAt: performance.now() - agoMs };
      const attempt = attemptOf({ settings: { leaseMs: LEASE_MS }, engine, own });
      const told = await attempt.steps.begin("a", undo);
      return { attempt, calls, told };
    };

    it("asks the store before other steps only if its lease may have ended unnoticed", async () => {
      expect(await begin("stale", false)).to.deep.include({ calls: [], told: "ok" });
      const { attempt, calls, told } = await begin("ok", false, LEASE_MS + 1000);
      expect([calls, told]).to.deep.equal([[["renew", LEASE_MS]], "ok"]);
      await attempt.steps.begin("b", false);
      expect(calls, "it is known to hold again").to.have.length(1);
      expect((await begin("stale", false, LEASE_MS + 1000)).told).to.equal("stale");
      const canceled = await begin("cancel", false, LEASE_MS + 1000);
      expect([canceled.told, canceled.attempt.aborted]).to.deep.equal(["canceled", "canceled"]);
    });

    it("waits while the store is away, unless it was asked to stop meanwhile", async () => {
      let failures = 2;
      const keep = async () => {
        failures -= 1;
        if (failures >= 0) throw away;
        return "ok";
      };
      const { log, messages } = recordingLog();
      const attempt = attemptOf({ engine: { steps: { keep } }, log });
      expect(await time.settle(attempt.steps.keep("a", "1", false))).to.equal("ok");
      expect(messages).to.have.length(2);
      failures = 2;
      attempt.abort("shutdown");
      expect(await attempt.steps.keep("a", "1", false).catch((error: unknown) => error)).to.equal(away);
    });
  });
});
