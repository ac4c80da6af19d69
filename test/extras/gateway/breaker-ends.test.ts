import { expect } from "chai";
import type { TargetState } from "../../../src/extras/gateway/circuit-breakers.ts";
import { CircuitBreakers } from "../../../src/extras/gateway/circuit-breakers.ts";
import type { BreakerVerdict } from "../../../src/extras/gateway/verbs.ts";
import { Keys } from "../../../src/store/keys.ts";
import { attemptOf } from "../../helpers/attempt.ts";
import { recordingLog } from "../../helpers/recording-log.ts";

describe("what an attempt reports to the circuit breaker of its queue", () => {
  const report = async (verdict: BreakerVerdict | Error, state?: TargetState["state"], repeatable = true) => {
    const noted: unknown[] = [];
    const note = async (...args: unknown[]) => {
      noted.push(args);
      if (verdict instanceof Error) throw verdict;
      return verdict;
    };
    const { log, messages } = recordingLog();
    const { lease } = attemptOf({});
    const told: unknown[] = [];
    const events = { target: async (...args: unknown[]) => void told.push(args) };
    const breakers = new CircuitBreakers({ of: () => ({}) as never }, new Keys("breaker-ends:", 1), events);
    breakers.note = note;
    const target = state && { state, reason: "refused", repeatable };
    const goesBack = await breakers.ended(lease, target, log);
    expect(noted).to.deep.equal([[lease, target]]);
    return { goesBack, messages, told };
  };

  it("sends its task back to its place if the target is down and the request may be sent again", async () => {
    for (const verdict of ["opened", "open"] as BreakerVerdict[]) {
      for (const state of ["down", "unclear"] as const) {
        expect((await report(verdict, state)).goesBack, `${verdict} ${state}`).to.equal(true);
        expect((await report(verdict, state, false)).goesBack).to.equal(false);
      }
    }
    expect((await report("closed", "down")).goesBack).to.equal(false);
    for (const state of ["up", undefined] as const) expect((await report("opened", state)).goesBack).to.equal(false);
  });

  it("is logged and an event when the circuit breaker opens or closes, and only then", async () => {
    const { queue } = attemptOf({}).lease;
    const opened = await report("opened", "down");
    expect([opened.messages.length, opened.told]).to.deep.equal([1, [[queue, "refused"]]]);
    const recovered = await report("recovered", "up");
    expect([recovered.messages.length, recovered.told]).to.deep.equal([1, [[queue, undefined]]]);
    for (const state of ["up", "down"] as const) {
      const { messages, told } = await report("closed", state);
      expect([messages, told]).to.deep.equal([[], []]);
    }
  });

  it("does not matter for a result if the store is away; but a task is not sent back without it", async () => {
    const away = new Error("refused");
    const { goesBack, messages } = await report(away, "up");
    expect([goesBack, messages.length]).to.deep.equal([false, 1]);
    expect(await report(away, "down").catch((error: unknown) => error)).to.equal(away);
  });
});
