import { expect } from "chai";
import { failureOf, openEngine, resultOf, type TestEngine } from "../helpers/engine.ts";
import { TASK } from "../helpers/store/stored.ts";

const HOUR_MS = 3_600_000;

/** Why a task is to stop: what its worker is told, and what the task says once it is canceled. */
const REASONS = {
  cancel: { told: "cancel", code: null, by: null },
  deadline: { told: "deadline", code: "deadline-passed", by: "deadline" },
  absence: { told: "abandoned", code: "abandoned", by: "abandoned" },
} as const;
type Reason = keyof typeof REASONS;
const NAMES = Object.keys(REASONS) as Reason[];
type Lease = { queue: string; id: string; fence: string };

describe("a task that is to stop", () => {
  let t: TestEngine;
  beforeEach(async () => {
    t = await openEngine({ settings: { attempts: 2 } });
  });
  afterEach(() => t.close());

  const tick = async () =>
    (await t.engine.maintenance.tick(0)).late.map(({ verdict, reason }) => `${verdict} ${reason}`);
  const due = async (id: string) => {
    await t.redis.zadd(t.key("deadlines"), "XX", 1, id);
    return await tick();
  };
  /** Makes it come about; returns the verdict. */
  const come: Readonly<Record<Reason, (id: string) => Promise<string>>> = {
    cancel: (id) => t.engine.call("cancel", { id, queue: "jobs" }),
    deadline: async (id) => {
      await t.redis.hset(t.key("task", id), TASK.deadline, 1);
      return (await due(id)).join();
    },
    absence: async (id) => (await due(id)).join(),
  };
  const verdictOf = (reason: Reason, verdict: string) =>
    reason === "cancel" ? verdict : `${verdict} ${REASONS[reason].told}`;
  const submit = (id: string, delayMs = 0) => t.submit({ id, delayMs, deadlineMs: 2 * HOUR_MS, presenceMs: HOUR_MS });
  const take = async (id: string): Promise<Lease> => {
    const [task] = await t.reserve(1);
    expect(task?.id).to.equal(id);
    return { queue: "jobs", id, fence: task?.fence ?? "" };
  };
  const fail = (lease: Lease) => t.engine.leases.fail(lease, failureOf("retry", HOUR_MS), t.settings);
  const isCanceled = async (id: string, reason: Reason) => {
    const { code, by } = REASONS[reason];
    const ended = { state: "canceled", index: null, cancelRequested: false, presentUntilMs: null };
    expect(await t.look(id), id).to.include({ ...ended, errorCode: code, canceledBy: by });
    expect(await t.redis.exists(t.key("deadlines"))).to.equal(0);
  };

  /** What its worker reports of it at last. */
  const ENDS: Readonly<Record<string, (lease: Lease) => Promise<string>>> = {
    completed: (lease) => t.engine.leases.complete(lease, resultOf("x"), t.settings),
    failed: fail,
    released: (lease) => t.engine.call("release", lease),
    lost: (lease) => t.engine.call("lose", lease),
  };

  for (const reason of NAMES) {
    for (const [end, report] of Object.entries(ENDS)) {
      it(`by ${reason} is canceled when it is ${end}, whatever else comes`, async () => {
        await submit("a");
        const lease = await take("a");
        expect(await come[reason]("a")).to.equal(verdictOf(reason, "requested"));
        await t.engine.inspector.inspect("a", { result: false, attends: () => true });
        for (const other of NAMES) await come[other]("a");
        for (const asked of [
          t.engine.leases.renew(lease, HOUR_MS),
          t.engine.call("begin", { ...lease, leaseMs: HOUR_MS, apart: false }),
        ])
          expect(await asked).to.equal(REASONS[reason].told);
        expect(await t.look("a")).to.include({ state: "running", cancelRequested: true });
        expect(await report(lease)).to.equal("canceled");
        await isCanceled("a", reason);
      });
    }

    it(`by ${reason} is canceled at once while it does not run`, async () => {
      await submit("retrying");
      await fail(await take("retrying"));
      await submit("scheduled", HOUR_MS);
      await submit("waiting");
      for (const id of ["retrying", "scheduled", "waiting"]) {
        expect(await come[reason](id), id).to.equal(verdictOf(reason, "canceled"));
      }
      for (const id of ["retrying", "scheduled", "waiting"]) await isCanceled(id, reason);
      expect(await tick()).to.deep.equal([]);
    });
  }

  it("has neither deadline nor presence once it is retried", async () => {
    await submit("a");
    const { deadlineMs } = await t.look("a");
    const lease = await take("a");
    expect(await t.engine.leases.fail(lease, failureOf("retry"), { ...t.settings, attempts: 1 })).to.equal("dead");
    expect(await t.look("a"), "told of a dead task").to.include({ deadlineMs, presentUntilMs: null });
    await t.engine.inspector.inspect("a", { result: false, attends: () => true });
    expect(await t.redis.exists(t.key("deadlines"))).to.equal(0);
    await t.engine.call("retry", { id: "a", queue: "jobs" });
    expect(await t.look("a")).to.include({ state: "waiting", deadlineMs: null, presenceMs: null });
  });

  it("is none that has ended, has gone, or has another task's entry", async () => {
    await submit("ended");
    await t.engine.leases.complete(await take("ended"), resultOf("x"), t.settings);
    await t.submit({ id: "later" });
    for (const id of ["ended", "gone", "later"]) await t.redis.zadd(t.key("deadlines"), 1, id);
    await t.redis.hset(t.key("task", "ended"), TASK.deadline, 1);
    expect(await tick()).to.deep.equal([]);
    expect((await t.look("ended")).state).to.equal("succeeded");
    expect((await t.look("later")).state).to.equal("waiting");
    expect(await t.redis.exists(t.key("deadlines"))).to.equal(0);
  });
});
