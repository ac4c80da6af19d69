import { expect } from "chai";
import { CallTimes } from "../../src/workers/call-times.ts";
import { randomOf } from "../shared/random.ts";

describe("the usual time of a call", () => {
  const fillAfter = (times: readonly number[]) => {
    const seen = new CallTimes();
    for (const ms of times) seen.add(ms);
    return seen.earlyFill;
  };
  const some = (ms: (n: number) => number) => Array.from({ length: 50 }, (_, n) => ms(n));

  it("says when to fill the next one, and when to give up", () => {
    expect(fillAfter(some(() => 20))).to.deep.equal({ askAfterMs: 15, giveUpAfterMs: 40 });
    const random = randomOf(1);
    const { askAfterMs = 0 } = fillAfter(some(() => 16 + 8 * random())) ?? {};
    expect(askAfterMs).to.be.within(14, 16);
  });

  it("says nothing before it is known", () => {
    expect(fillAfter([20, 20, 20])).to.equal(undefined);
    expect(fillAfter([20, 20, 20, 20])).to.not.equal(undefined);
  });

  it("says nothing of calls that vary, or are so long that a round trip does not matter", () => {
    expect(fillAfter(some((n) => (n % 2 === 0 ? 5 : 35)))).to.equal(undefined);
    expect(fillAfter(some(() => 51))).to.equal(undefined);
  });

  it("follows a change", () => {
    expect(fillAfter([...some(() => 500), ...some(() => 20), ...some(() => 20)])?.askAfterMs).to.be.within(15, 17);
    expect(fillAfter([...some(() => 20), ...some(() => 500)])).to.equal(undefined);
  });
});
