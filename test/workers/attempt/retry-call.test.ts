import { expect } from "chai";
import { ProblemError } from "../../../src/errors.ts";
import { retryCall } from "../../../src/workers/attempt/retry-call.ts";
import { type FakeTime, fakeTime } from "../../helpers/fake-time.ts";

describe("a call to the store that fails", () => {
  let time: FakeTime;
  beforeEach(() => {
    time = fakeTime();
  });
  afterEach(() => time.end());

  /** Makes a call whose tries fail with these errors, the last one with all that follow. */
  const make = async (errors: readonly Error[], done: () => boolean = () => false) => {
    const seen: { tries: number; failures: unknown[] } = { tries: 0, failures: [] };
    const call = async () => {
      seen.tries += 1;
      const error = errors[seen.tries - 1];
      if (error) throw error;
      return "answered";
    };
    const answered = retryCall(call, { done, onFailure: (error) => seen.failures.push(error) });
    const end: unknown = await time.settle(answered.catch((error: unknown) => error));
    return { seen, end };
  };
  const away = new ProblemError("store-unavailable");

  it("is not repeated once it no longer matters", async () => {
    let tries = 0;
    const { seen, end } = await make([away, away, away], () => {
      tries += 1;
      return tries === 2;
    });
    expect(end).to.equal(away);
    expect(seen).to.deep.equal({ tries: 2, failures: [away] });
  });

  it("is given up after five refusals that are no outage", async () => {
    const refusals = Array.from({ length: 9 }, (_, n) =>
      n % 2 === 0 ? new Error(`refusal ${n}`) : new ProblemError("internal"),
    );
    const { seen, end } = await make([away, ...refusals]);
    expect(end).to.equal(refusals[4]);
    expect(seen).to.deep.equal({ tries: 6, failures: [away, ...refusals.slice(0, 4)] });
  });
});
