import { expect } from "chai";
import { ProblemError } from "../../../src/errors.ts";
import { CircuitBreakers } from "../../../src/extras/gateway/circuit-breakers.ts";
import type * as VERBS from "../../../src/extras/gateway/verbs.ts";
import { Keys } from "../../../src/store/keys.ts";
import type { Reservation, ReserveAnswer } from "../../../src/store/verbs/reserve.ts";
import type { CallsOf } from "../../../src/store/verbs/scripts.ts";

const REQUEST: Reservation = {
  ...{ queue: "jobs", worker: "w1", reservation: "r1", count: 5, leaseMs: 15_000 },
  rate: undefined,
};
const seen = (state: "up" | "down" | "unclear", reason = "") => ({ state, reason, repeatable: true });
const lease = (id: string) => ({ queue: "jobs", id, fence: `7${id.slice(1)}` });

type Breaker = Awaited<ReturnType<CallsOf<typeof VERBS>["breaker"]>>;
type Verdict = Awaited<ReturnType<CallsOf<typeof VERBS>["breakerReport"]>>;

describe("what a process asks of a circuit breaker", () => {
  let breakers: CircuitBreakers;
  /** What was asked and reported. */
  let calls: Record<string, unknown>[];
  let breaker: Breaker;
  let verdict: Verdict;
  let isAway: boolean;
  beforeEach(() => {
    calls = [];
    breaker = { state: "closed", waitMs: 0, failures: 0 };
    verdict = "closed";
    isAway = false;
    const noted = (call: object) => {
      if (isAway) throw new ProblemError("store-unavailable");
      calls.push({ ...call });
    };
    const verbs: CallsOf<typeof VERBS> = {
      breaker: async (_, question) => {
        noted(question);
        return breaker;
      },
      breakerReport: async (_, report) => {
        noted(report);
        return verdict;
      },
    };
    breakers = new CircuitBreakers({ of: () => verbs as never }, new Keys("breaker-calls:", 1), {
      target: async () => undefined,
    });
  });

  /** Reserves from a line of this many tasks; returns how many were asked for, and the answer. */
  const reserve = async (waiting: number, given: Partial<Reservation> = {}, pauseMs = 0) => {
    const counts: number[] = [];
    const answer = await breakers.reserve({ ...REQUEST, ...given }, async (count) => {
      counts.push(count);
      const tasks = Array.from({ length: Math.min(count, waiting) }, (_, n) => ({ id: `t${n}`, fence: `7${n}` }));
      return { tasks, pauseMs } as unknown as ReserveAnswer;
    });
    return { counts, answer };
  };
  const probe = async () => {
    breaker = { state: "half-open", waitMs: 0, failures: 3 };
    await reserve(9);
    calls.length = 0;
  };

  it("is nothing more while it is closed: all tasks are reserved", async () => {
    expect((await reserve(9)).counts).to.deep.equal([5]);
    const name = "w1 0 r1";
    expect(calls).to.deep.equal([{ queue: "jobs", request: name, leaseMs: 15_000, verb: "ask" }]);
    await reserve(9, { sender: "s" });
    expect(calls[1]).to.include({ request: "" });
  });

  it("is for how long it stays open; a repeated request gets its tasks nevertheless", async () => {
    breaker = { state: "open", waitMs: 700, failures: 3 };
    const { counts, answer } = await reserve(9, {}, 300);
    expect(counts).to.deep.equal([0]);
    expect(answer.pauseMs).to.equal(700);
    expect((await reserve(9, {}, 900)).answer.pauseMs).to.equal(900);
  });

  it("is whether one task may start as a probe, which is handed back if there is none", async () => {
    breaker = { state: "half-open", waitMs: 0, failures: 3 };
    expect((await reserve(9)).counts).to.deep.equal([1]);
    expect(["t0", "t1"].map((id) => breakers.isProbe(lease(id)))).to.deep.equal([true, false]);
    expect(breakers.isProbe({ ...lease("t0"), fence: "8" })).to.equal(false);
    expect(breakers.isProbe({ ...lease("t0"), queue: "others" })).to.equal(false);
    expect(calls).to.have.length(1);
    expect((await reserve(0)).counts).to.deep.equal([1]);
    expect(calls.map(({ verb }) => verb)).to.deep.equal(["ask", "ask", "return"]);
    expect((await reserve(9, { count: 0 })).counts).to.deep.equal([0]);
  });

  it("is to keep the probe while its lease is renewed, which no failure disturbs", async () => {
    await probe();
    await breakers.renewed(lease("t0"), 9000);
    expect(calls).to.deep.equal([{ queue: "jobs", request: "w1 0 r1", leaseMs: 9000, verb: "ask" }]);
    isAway = true;
    await breakers.renewed(lease("t0"), 9000);
  });

  it("is what the probe has shown, once", async () => {
    await probe();
    verdict = "recovered";
    expect(await breakers.note(lease("t0"), seen("up"))).to.equal("recovered");
    expect(calls).to.deep.equal([{ queue: "jobs", reference: "70", state: "up", reason: "", request: "w1 0 r1" }]);
    expect(breakers.isProbe(lease("t0"))).to.equal(false);
  });

  it("is to take back a probe that has shown nothing; other tasks that show nothing are not told of", async () => {
    await probe();
    expect(await breakers.note(lease("t1"), undefined)).to.equal("closed");
    expect(calls).to.deep.equal([]);
    expect(breakers.isProbe(lease("t0"))).to.equal(true);
    expect(await breakers.note(lease("t0"), undefined)).to.equal("closed");
    expect(calls).to.deep.equal([{ queue: "jobs", request: "w1 0 r1", leaseMs: 1, verb: "return" }]);
    expect(breakers.isProbe(lease("t0"))).to.equal(false);
  });

  it("has no success in it unless an attempt has failed before", async () => {
    const success = async () => {
      calls.length = 0;
      await breakers.note(lease("a"), seen("up"));
      return calls.length;
    };
    expect(await success()).to.equal(0);
    await breakers.note(lease("b"), seen("unclear"));
    expect(await success()).to.equal(0);
    await breakers.note(lease("b"), seen("down", "x".repeat(50)));
    expect(calls[0]).to.include({ state: "down", reason: "x".repeat(40), request: "" });
    verdict = "open";
    expect(await success(), "the first").to.equal(1);
    verdict = "closed";
    expect(await success(), "while it was open").to.equal(1);
    expect(await success()).to.equal(0);
    // Another process had a failure.
    breaker = { state: "closed", waitMs: 0, failures: 1 };
    await reserve(9);
    expect(await success()).to.equal(1);
    await reserve(9);
    breaker = { state: "closed", waitMs: 0, failures: 0 };
    await reserve(9);
    expect(await success()).to.equal(0);
  });
});
